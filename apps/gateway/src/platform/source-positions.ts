import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const PLACE = /(file:\/\/\/[^\s()]+\.mjs):(\d+):(\d+)/g

/** By the address of what runs; null for what was built of nothing. */
const maps = new Map<string, SourceMap | null>()

/**
 * Says in a stack which line of which source each place came from, where what runs was built of many. A map is read
 * when the first error is told: Node's own way of it makes each start a third slower.
 */
export function withSourcePositions(stack: string): string {
  return stack.replaceAll(PLACE, (place, url: string, line: string, column: string) => {
    const origin = mapOf(url)?.findOrigin(Number(line), Number(column))
    if (origin === undefined || !('fileName' in origin)) return place
    const file = resolve(dirname(fileURLToPath(url)), origin.fileName)
    return `${file}:${origin.lineNumber}:${origin.columnNumber}`
  })
}

function mapOf(url: string): SourceMap | null {
  const known = maps.get(url)
  if (known !== undefined) return known
  const file = `${fileURLToPath(url)}.map`
  const map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
  maps.set(url, map)
  return map
}
