import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Language } from '@berth/contract/limits'
import { and, eq, gt, isNull, lt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { deriveKey } from '../../../platform/secrets.ts'
import { captcha } from '../tables.ts'
import { createDice } from './captcha-dice.ts'
import { drawDigits } from './captcha-picture.ts'
import { askQuestion } from './captcha-question.ts'

/** Casdoor's number of digits. */
const DIGITS = 5
/** Long enough to look for one's glasses, short enough that answers cannot be collected. */
export const CAPTCHA_LIFE_MS = 5 * 60_000
const ID_BYTES = 16
const SEED_BYTES = 32

interface DrawnCaptchaDeps {
  db: Database
  clock: Clock
  ids: Ids
  rootKey: Uint8Array
}

/**
 * The captcha that the gateway draws itself: digits in a picture, or a question in words for whoever cannot see it.
 * It is kept in the database, so that any replica can judge what another one has shown.
 */
export function createDrawnCaptcha({ db, clock, ids, rootKey }: DrawnCaptchaDeps) {
  const key = deriveKey(rootKey, 'berth captcha answers')
  // Five digits are found from a plain hash in no time; not so without the key.
  const hashOf = (id: string, answer: string) =>
    createHmac('sha256', key).update(`${id} ${answer}`).digest('base64url')

  return {
    /** Makes one. @returns Its id, the picture as a PNG in base64, and the question in that language. */
    async make(language: Language) {
      const id = ids.secret(ID_BYTES)
      const dice = createDice(ids.secret(SEED_BYTES))
      const digits = Array.from({ length: DIGITS }, () => dice.below(10)).join('')
      const { question, answer } = askQuestion(language, dice)
      const picture = drawDigits(digits, dice)
      const expiresAt = new Date(clock.now().getTime() + CAPTCHA_LIFE_MS)
      await db.insert(captcha).values({
        id,
        imageAnswerHash: hashOf(id, digits),
        questionAnswerHash: hashOf(id, answer),
        expiresAt,
      })
      return {
        captchaId: id,
        captchaImage: Buffer.from(picture).toString('base64'),
        captchaQuestion: question,
      }
    },

    /**
     * Uses one up, whatever the answer is. The one statement lets a single try through.
     * @returns Whether the answer is right; false, too, for one that is unknown, used or over.
     */
    async use(id: string, token: string): Promise<boolean> {
      const now = clock.now()
      const [row] = await db
        .update(captcha)
        .set({ usedAt: now })
        .where(and(eq(captcha.id, id), isNull(captcha.usedAt), gt(captcha.expiresAt, now)))
        .returning()
      if (!row) return false
      const given = hashOf(id, plainNumber(token))
      return isSame(given, row.imageAnswerHash) || isSame(given, row.questionAnswerHash)
    },

    /** Removes those that are over. */
    async purge(): Promise<void> {
      await db.delete(captcha).where(lt(captcha.expiresAt, clock.now()))
    },
  }
}

/** Digits as an input method for Chinese or Japanese may give them, and with spaces between, are the same digits. */
function plainNumber(token: string): string {
  return token.normalize('NFKC').replace(/\s/g, '')
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
