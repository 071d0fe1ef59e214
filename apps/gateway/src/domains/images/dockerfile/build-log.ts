import { stripVTControlCharacters } from 'node:util'
import { BUILD_LOG_LINES_MAX, BUILD_LOG_PAGE_LINES } from '@berth/contract/build-limits'
import { and, asc, eq, gt, lte, max, min } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { imageBuildLine } from '../tables.ts'

const LINE_CHARS_MAX = 1_000
const WRITE_MS = 500
/** What a step writes faster than that is left out: nobody reads it. */
const HELD_LINES_MAX = 1_000

/** Takes what a build writes, and keeps its last lines for all gateways. */
export interface BuildLogWriter {
  add(text: string): void
  /** Writes down what is held. */
  end(): Promise<void>
}

/** Begins the log of a build anew. */
export async function openBuildLog(
  deps: { db: Database; log: Pick<Logger, 'warn'> },
  imageId: string,
): Promise<BuildLogWriter> {
  const { db, log } = deps
  await forgetBuildLog(db, imageId)
  let open = ''
  let held: string[] = []
  let leftOut = 0
  let number = 0
  let busy: Promise<unknown> = Promise.resolve()

  function take(line: string): void {
    if (held.length < HELD_LINES_MAX) held.push(plain(line).slice(0, LINE_CHARS_MAX))
    else leftOut += 1
  }

  async function write(): Promise<void> {
    const lines = leftOut === 0 ? held : [...held, `… ${leftOut} lines came too fast to be kept`]
    held = []
    leftOut = 0
    if (lines.length === 0) return
    const values = lines.map(line => {
      number += 1
      return { imageId, number, line }
    })
    // Another gateway may have begun it anew, which ends this one.
    await db.insert(imageBuildLine).values(values).onConflictDoNothing()
    if (number > BUILD_LOG_LINES_MAX)
      await db
        .delete(imageBuildLine)
        .where(
          and(eq(imageBuildLine.imageId, imageId), lte(imageBuildLine.number, number - BUILD_LOG_LINES_MAX)),
        )
  }

  const writeSoon = () => {
    busy = busy
      .then(write)
      .catch(error => log.warn({ err: error, image: imageId }, 'a build’s log was not written'))
  }
  const timer = setInterval(writeSoon, WRITE_MS)
  return {
    add(text) {
      const lines = `${open}${text}`.split('\n')
      open = (lines.pop() ?? '').slice(-LINE_CHARS_MAX)
      for (const line of lines) take(line)
    },
    async end() {
      clearInterval(timer)
      if (open !== '') take(open)
      open = ''
      writeSoon()
      await busy
    },
  }
}

/** Lines of a build from one on. */
export async function readBuildLog(q: Queryable, imageId: string, after: number) {
  const rows = await q
    .select({ number: imageBuildLine.number, line: imageBuildLine.line })
    .from(imageBuildLine)
    .where(and(eq(imageBuildLine.imageId, imageId), gt(imageBuildLine.number, after)))
    .orderBy(asc(imageBuildLine.number))
    .limit(BUILD_LOG_PAGE_LINES)
  const [bounds] = await q
    .select({ first: min(imageBuildLine.number), last: max(imageBuildLine.number) })
    .from(imageBuildLine)
    .where(eq(imageBuildLine.imageId, imageId))
  const last = bounds?.last ?? 0
  // A log that was begun anew is shorter than what was read of it.
  const next = rows.at(-1)?.number ?? Math.min(after, last)
  return {
    lines: rows.map(({ line }) => line),
    next,
    skipped: (rows[0]?.number ?? next + 1) - 1,
    isWhole: next >= last,
  }
}

/** Removes the log of a build. */
export async function forgetBuildLog(q: Queryable, imageId: string): Promise<void> {
  await q.delete(imageBuildLine).where(eq(imageBuildLine.imageId, imageId))
}

/** What a line shows in the end, without what moves a terminal's cursor or colours it. */
function plain(line: string): string {
  const shown = stripVTControlCharacters(line).replace(/\r+$/, '')
  return shown
    .slice(shown.lastIndexOf('\r') + 1)
    .replace(/[\p{Cc}\p{Cs}]/gu, char => (char === '\t' ? '\t' : ''))
}
