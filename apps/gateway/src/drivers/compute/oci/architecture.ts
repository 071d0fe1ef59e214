/** What processors are called in images. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = {
  x64: 'amd64',
  arm64: 'arm64',
  ppc64: 'ppc64le',
  s390x: 's390x',
  riscv64: 'riscv64',
}

/** What this computer's processor is called in images; undefined for one that has no name there. */
export const ARCHITECTURE = ARCHITECTURES[process.arch]
