import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Keeps an embedded PostgreSQL that is killed next from being started again, until the test ends at the latest.
 * @param folder Its data.
 * @returns Lets it come back.
 */
export function keepAway(folder: string): () => void {
  const file = join(folder, 'postgresql.conf')
  const away = `${file}.away`
  const comeBack = () => {
    if (existsSync(away)) renameSync(away, file)
  }
  // A server that runs has read it; one that starts ends without it.
  renameSync(file, away)
  onTestFinished(comeBack)
  return comeBack
}
