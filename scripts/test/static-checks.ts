import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureConsoleBuilt } from '../lib/console-build.mjs'
import { ensureGatewayBuilt } from '../lib/gateway-build.mjs'
import { pinnedNode, root, toolPath } from '../lib/paths.mjs'
import { prepare } from '../lib/prepare.mjs'
import { runCommand } from './command.ts'
import type { Tally } from './tally.ts'

const TIMEOUT_MINUTES = 5
/**
 * No workspace needs this much: looking for memory that could be used again is a quarter of the compiler’s work,
 * and with this is done only where one comes to the limit.
 */
const COMPILER_MEMORY = { GOGC: 'off', GOMEMLIMIT: '2GiB' }

/** Type-checks every workspace and the scripts; each is one test. */
export async function checkTypes(): Promise<Tally> {
  const tally: Tally = { passed: 0, failed: [], skipped: [] }
  for (const project of typedProjects()) {
    // One thread: more of them look at the same types again, and the other core has the other checks to do.
    const args = ['--noEmit', '--checkers', '1', '--project', project]
    addTo(tally, await checkWith('tsc', args, `TypeScript: ${project}`, COMPILER_MEMORY))
  }
  return tally
}

/** Formatting and lint. */
export async function checkStyle(): Promise<Tally> {
  return checkWith('biome', ['check', '--error-on-warnings', '.'], 'Biome')
}

/** The direction of imports, as `.dependency-cruiser.mjs` has it. */
export async function checkArrows(): Promise<Tally> {
  const args = ['--config', '.dependency-cruiser.mjs', 'apps', 'packages', 'e2e', 'bench', 'scripts']
  return checkWith('depcruise', args, 'dependency-cruiser')
}

/** Files, exports and packages that nothing uses. */
export async function checkUnused(): Promise<Tally> {
  return checkWith('knip', [], 'knip')
}

/** The console's production build, which the browser tests need. */
export async function buildConsole(): Promise<Tally> {
  return outcome(await prepare([ensureConsoleBuilt]), 'Console build')
}

/** The gateway as it is started, which tests of its whole process need. */
export async function buildGateway(): Promise<Tally> {
  return outcome(await prepare([ensureGatewayBuilt]), 'Gateway build')
}

/** Folders with a tsconfig.json: the workspaces, and the scripts, which are none. */
function typedProjects(): string[] {
  const manifest: { workspaces: string[] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const folders = [...globSync(manifest.workspaces, { cwd: root }).sort(), 'scripts']
  return folders.filter(folder => existsSync(join(root, folder, 'tsconfig.json')))
}

async function checkWith(
  tool: string,
  args: readonly string[],
  name: string,
  env: Record<string, string> = {},
): Promise<Tally> {
  const options = { timeoutMinutes: TIMEOUT_MINUTES, live: false, env }
  const result = await runCommand(pinnedNode, [toolPath(tool), ...args], options)
  if (!result.ok) console.log(`${name}:\n${result.output.trimEnd()}\n`)
  return outcome(result.ok, name)
}

function outcome(ok: boolean, name: string): Tally {
  return { passed: ok ? 1 : 0, failed: ok ? [] : [{ name }], skipped: [] }
}

function addTo(sum: Tally, tally: Tally): void {
  sum.passed += tally.passed
  sum.failed.push(...tally.failed)
}
