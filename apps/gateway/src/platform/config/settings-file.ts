import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** In the folder of the whole project. */
const FILE = join(import.meta.dirname, '../../../../../.env')

/**
 * Takes settings from the project's `.env`, where there is one, as `npm start` does; what the environment has goes first. For
 * commands that are typed beside a running gateway.
 */
export function readSettingsFile(): void {
  if (existsSync(FILE)) process.loadEnvFile(FILE)
}
