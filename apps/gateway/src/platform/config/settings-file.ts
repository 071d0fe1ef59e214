import { existsSync } from 'node:fs'

/** In the folder of the whole project. */
const FILE = new URL('../../../../../.env', import.meta.url)

/**
 * Takes settings from the project's `.env`, where there is one, as `npm start` does; what the environment has goes first. For
 * commands that are typed beside a running gateway.
 */
export function readSettingsFile(): void {
  if (existsSync(FILE)) process.loadEnvFile(FILE)
}
