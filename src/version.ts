/** The package's version, as its requests name it. */
export const version = '1.0.0';
