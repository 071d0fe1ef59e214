/** What is kept for a while when nothing is left to pay for it (B4): it is warned of, dated, then deleted, never at once. */
export interface UnpaidRules {
  /** So many days it is kept. */
  keptDays: number
  /** On these days before its deletion its customer is told. */
  noticeDays: readonly number[]
}

/** What a row says of that. */
export interface UnpaidState {
  /** Since when nothing is left to pay for it; null: it is paid for. */
  unpaidSince: Date | null
  /** The day before its deletion on which its customer was last told; null: not yet. */
  unpaidNoticeDay: number | null
}

/** What is to be done about it now: nothing, forget that it was unpaid, tell of a day before its deletion, or delete it. */
export type UnpaidStep = 'none' | 'paid' | 'delete' | { tellDay: number }

const DAY_MS = 86_400_000

/** When it is deleted; null: it is paid for. */
export function deletedOn(
  { unpaidSince }: Pick<UnpaidState, 'unpaidSince'>,
  { keptDays }: Pick<UnpaidRules, 'keptDays'>,
): Date | null {
  return unpaidSince && new Date(unpaidSince.getTime() + keptDays * DAY_MS)
}

/**
 * The one next step for something that was found unpaid. Pure.
 * @param isUnpaid Whether nothing is left to pay for it now.
 */
export function unpaidStep(
  row: UnpaidState,
  rules: UnpaidRules,
  { now, isUnpaid }: { now: Date; isUnpaid: boolean },
): UnpaidStep {
  const until = deletedOn(row, rules)
  if (until === null) return 'none'
  if (!isUnpaid) return 'paid'
  const leftMs = until.getTime() - now.getTime()
  if (leftMs <= 0) return 'delete'
  const due = rules.noticeDays.filter(day => leftMs <= day * DAY_MS)
  if (due.length === 0) return 'none'
  const tellDay = Math.min(...due)
  return row.unpaidNoticeDay === null || row.unpaidNoticeDay > tellDay ? { tellDay } : 'none'
}
