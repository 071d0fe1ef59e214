import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ENGINE_ENTRY, engineModule } from '../src/drivers/models/local/engine-folder.ts'
import { createLog } from '../src/platform/log.ts'

/** Where a computer may have `node-llama-cpp` already: a folder in which npm put it. */
const PEER = join(process.env.PEERS ?? join(homedir(), '.cache', 'peers'), 'llama')
/** Another one of ours, which later runs find. */
const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/berth/llama')
/** It is 85 MB; who has no way to a registry knows much sooner. */
const INSTALL_MS = 60_000

/** The engine of local models: one that is there, or one that is put into a folder once, as a gateway does it. */
export async function llamaEngine(): Promise<{ module: string } | { why: string }> {
  const there = join(PEER, ENGINE_ENTRY)
  if (existsSync(there)) return { module: there }
  try {
    await mkdir(CACHE, { recursive: true })
    const log = createLog({ level: 'silent', pretty: false })
    const signal = AbortSignal.timeout(INSTALL_MS)
    return { module: await engineModule({ given: null, folder: CACHE, log, signal }) }
  } catch (error) {
    const [line = ''] = String(error).split('\n')
    return { why: `there is no node-llama-cpp in ${PEER}, and none could be installed: ${line}` }
  }
}
