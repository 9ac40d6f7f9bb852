/** The package's version, as its requests name it. */
export const version = '0.1.0';
