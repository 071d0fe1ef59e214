import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type CopiedDatabase, copyTemplate } from '../apps/gateway/test/copy-template.ts'

const SERVE = fileURLToPath(new URL('../apps/gateway/test/serve-postgres.ts', import.meta.url))
/** Tells the workers where the run's PostgreSQL is. */
const PLACE = 'BERTH_E2E_POSTGRES'

/** Starts one PostgreSQL for all gateways of the run: making one takes longer than starting a gateway. */
async function startPostgres(): Promise<() => Promise<void>> {
  const server = spawn(process.execPath, [SERVE], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const line = once(createInterface(server.stdout), 'line')
  const [place] = await Promise.race([line, ended])
  if (typeof place !== 'string') throw new Error('The PostgreSQL of the run did not start.')
  process.env[PLACE] = place
  return async () => {
    server.stdin.end()
    await ended
  }
}

/** A database for one gateway, migrated and empty. */
export function makeDatabase(): Promise<CopiedDatabase> {
  const { url, templateName } = JSON.parse(process.env[PLACE] ?? '{}')
  return copyTemplate(url, templateName)
}

// biome-ignore lint/style/noDefaultExport: Playwright calls a global setup by its file's default export.
export default startPostgres
