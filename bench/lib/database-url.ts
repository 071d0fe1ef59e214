import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the database of a gateway is, as the gateway's own start makes it; the password is in the folder. */
export function databaseUrlOf(dataDir: string): string {
  const { database_password: password } = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'))
  const query = `host=${encodeURIComponent(join(dataDir, 'run'))}&port=5432`
  return `postgresql://berth:${encodeURIComponent(password)}@/berth?${query}`
}
