import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { getCaptchaStatus } from '@berth/contract/account-sign-in'
import { email as emailRule } from '@berth/contract/fields'
import { useRef, useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { request } from '../../api/client.ts'
import type { CaptchaAnswer } from './sign-in.ts'

/** What the field of a captcha is given. */
export interface CaptchaFieldProps {
  /** Null while nothing is answered. */
  onAnswer: (answer: CaptchaAnswer | null) => void
  /** How often the form was sent without an answer. */
  complaints: number
  /** Whether it appears because the form was refused, so that the keyboard goes there. */
  takesFocus: boolean
  /** Whether the question is shown instead of the picture: who cannot see one cannot see the next one either. */
  isQuestion: boolean
  onMode: (isQuestion: boolean) => void
}

/** What a single captcha of either kind is given. */
export interface OneCaptchaProps extends CaptchaFieldProps {
  onRenew: () => void
}

export interface CaptchaOfForm {
  isAsked: boolean
  /** Another one is shown for each number. */
  round: number
  /** What goes along with the password; empty where nothing is asked. */
  answer: Partial<CaptchaAnswer>
  field: CaptchaFieldProps
  /** Whether one is asked for and not answered yet; says so at the field. */
  isMissing: () => boolean
  /** Looks whether that name is asked for one, once it was typed. */
  lookFor: (email: string) => Promise<void>
  /** A sign-in failed: what was answered is used up, and one may be asked for from now on. */
  onRefused: (error: unknown, email: string) => Promise<void>
}

/** The captcha of the log-in form, which is asked for after failures only. */
export function useCaptcha(): CaptchaOfForm {
  const [isAsked, setAsked] = useState(false)
  const [round, setRound] = useState(0)
  const [complaints, setComplaints] = useState(0)
  const [takesFocus, setTakesFocus] = useState(false)
  const [isQuestion, setQuestion] = useState(false)
  const [answer, setAnswer] = useState<CaptchaAnswer | null>(null)
  const lookedFor = useRef('')

  function renew(because: unknown): void {
    setAnswer(null)
    setComplaints(0)
    setTakesFocus(because instanceof ApiError && because.code.startsWith('captcha_'))
    setRound(count => count + 1)
  }

  async function lookFor(email: string): Promise<void> {
    if (email === lookedFor.current || !emailRule.safeParse(email).success) return
    lookedFor.current = email
    const asked = await isAskedFor(email)
    // A name that was typed since then has an answer of its own.
    if (asked !== null && lookedFor.current === email) setAsked(asked)
  }

  return {
    isAsked,
    round,
    answer: isAsked && answer ? answer : {},
    field: { onAnswer: setAnswer, complaints, takesFocus, isQuestion, onMode: setQuestion },
    isMissing() {
      if (!isAsked || answer) return false
      setComplaints(count => count + 1)
      return true
    },
    lookFor,
    async onRefused(error, email) {
      renew(error)
      if (error instanceof ApiError && error.code.startsWith('captcha_')) setAsked(true)
      else {
        lookedFor.current = ''
        await lookFor(email)
      }
    },
  }
}

/** Null when it cannot be said: signing in will. */
async function isAskedFor(userId: string): Promise<boolean | null> {
  const query = { organization: ORGANIZATION, application: APPLICATION, userId }
  try {
    return await request(getCaptchaStatus, { query }, { silent: true })
  } catch {
    return null
  }
}
