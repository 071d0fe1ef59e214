import { idleStopMinutes, spendLimitCents, stopAt } from '@berth/contract/instances'
import * as z from 'zod'
import { optionalAmountText } from './amount-text.ts'

/** When an instance is stopped by itself (B5), as a form holds it: a moment of the customer's own clock, an amount and minutes as typed. */
export interface StopRuleValues {
  stop_at: string
  spend_limit_cents: string
  idle_stop_minutes: string
}

/** No rules: it runs until it is stopped. */
export const NO_STOP_RULES: StopRuleValues = { stop_at: '', spend_limit_cents: '', idle_stop_minutes: '' }

/** The fields of a form that meet the call's own rules; empty ones are null. */
export const stopRuleFields = {
  stop_at: z.string().transform(momentFromText).pipe(stopAt),
  spend_limit_cents: optionalAmountText.pipe(spendLimitCents),
  idle_stop_minutes: z.string().transform(numberFromText).pipe(idleStopMinutes),
}

/** An instance's rules, as a form holds them. */
export function stopRuleValues(rules: {
  stop_at: string | null
  spend_limit_cents: number | null
  idle_stop_minutes: number | null
}): StopRuleValues {
  return {
    stop_at: rules.stop_at === null ? '' : textFromMoment(new Date(rules.stop_at)),
    spend_limit_cents: rules.spend_limit_cents === null ? '' : (rules.spend_limit_cents / 100).toFixed(2),
    idle_stop_minutes: rules.idle_stop_minutes === null ? '' : String(rules.idle_stop_minutes),
  }
}

/** What is no number stays none, for the rule to refuse. */
function numberFromText(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

/** What a field for a moment holds, without its zone; what is no moment stays as it is, for the rule to refuse. */
export function momentFromText(text: string): string | null {
  if (text === '') return null
  const moment = new Date(text)
  return Number.isNaN(moment.getTime()) ? text : moment.toISOString()
}

/** `2026-11-22T18:05` on the customer's own clock; seconds and their parts only where there are some, so that nothing is lost. */
export function textFromMoment(moment: Date): string {
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString()
  return local.replace(/(:00)?\.000Z$|Z$/, '')
}
