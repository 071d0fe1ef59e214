import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { EnterRoot, FilterLoader } from './filter-loader.ts'
import type { AgentFiles, ViewStep } from './root-view.ts'

const LDD_TIMEOUT_MS = 5_000
const INSIDE = '/.berth'
const LIBRARIES_INSIDE = `${INSIDE}/lib`

/**
 * What a machine needs of this computer beside its image, which may have neither a shell nor Node, nor the libraries of
 * ours: by their own loader they run in any root.
 */
export interface ImageTools {
  /** Where they are outside, by the names that they have inside. */
  programs: Readonly<Record<'sh' | 'node', string>>
  libraries: readonly string[]
  /** Which of the libraries loads the others. */
  loader: string
  filter: EnterRoot
}

/**
 * Finds all of that, or why no image of a registry can run here.
 * @param agent Whose terminals have libraries, too.
 */
export async function findImageTools(
  filter: FilterLoader,
  agent: AgentFiles,
): Promise<ImageTools | { lacks: string }> {
  const into_root = filter.words === null ? null : filter.into_root
  if (into_root === null) {
    return {
      lacks:
        'An image of a registry runs in a sandbox only where perl can put a filter of system calls over it.',
    }
  }
  const programs = { sh: await realpath('/bin/sh'), node: process.execPath }
  const libraries = await librariesOf([...Object.values(programs), agent.pty])
  const loader = libraries.find(path => /^ld[-.]/.test(basename(path)))
  if (loader === undefined) {
    return {
      lacks: 'An image of a registry runs in a sandbox only where programs tell their libraries.',
    }
  }
  return { programs, libraries, loader, filter: into_root }
}

/** The words that run one of those programs inside, with no file of the image's asked for it. */
export function insideTool(tools: ImageTools, name: keyof ImageTools['programs']): string[] {
  const loader = join(LIBRARIES_INSIDE, basename(tools.loader))
  return [loader, '--inhibit-cache', '--library-path', LIBRARIES_INSIDE, join(INSIDE, 'bin', name)]
}

/** What lays them into a machine's view. */
export function toolSteps({ programs, libraries }: ImageTools): ViewStep[] {
  const bind = (from: string, at: string): ViewStep => ({ do: 'bind', from, at, kind: 'file' })
  return [
    { do: 'dir', at: LIBRARIES_INSIDE },
    ...libraries.map(path => bind(path, join(LIBRARIES_INSIDE, basename(path)))),
    { do: 'dir', at: `${INSIDE}/bin` },
    ...Object.entries(programs).map(([name, path]) => bind(path, `${INSIDE}/bin/${name}`)),
  ]
}

/** What the loader would load, each by its own name. */
async function librariesOf(programs: string[]): Promise<string[]> {
  const found = new Map<string, string>()
  for (const program of programs) {
    const told = await promisify(execFile)('ldd', [program], { timeout: LDD_TIMEOUT_MS }).catch(() => null)
    for (const [, path = ''] of (told?.stdout ?? '').matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)) {
      found.set(basename(path), path)
    }
  }
  return [...found.values()]
}
