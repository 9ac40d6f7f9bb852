/** Takes Node's arithmetic away, as on a platform that has none: signers then use Web Crypto and tweetnacl. */

const { getBuiltinModule } = process;

process.getBuiltinModule = ((name: string) =>
  name === 'crypto' ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule;
