import type { Clock } from '../../platform/clock.ts'
import type { ImageAnswer } from './ask-image.ts'

/** A form asks again and again while it is filled in; a registry is asked once in this time. */
const KEPT_MS = 60_000
const KEPT_MAX = 1_000

/**
 * Keeps what registries said of images for a short while, each for the customer who asked and with the credential that
 * was shown.
 */
export function createImageAnswers({ clock }: { clock: Clock }) {
  const kept = new Map<string, { until: number; answer: Promise<ImageAnswer> }>()

  return {
    /**
     * What was said a moment ago, or what is said now. A failure is not kept, nor is what may be otherwise at once.
     * @param key Who asks for what with which credential.
     */
    of(key: string, ask: () => Promise<ImageAnswer>): Promise<ImageAnswer> {
      const now = clock.now().getTime()
      const before = kept.get(key)
      if (before && before.until > now) return before.answer
      const answer = ask()
      const entry = { until: now + KEPT_MS, answer }
      kept.delete(key)
      if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value ?? '')
      kept.set(key, entry)
      const drop = () => {
        if (kept.get(key) === entry) kept.delete(key)
      }
      answer.then(said => said.result === 'away' && drop(), drop)
      return answer
    },
  }
}
