import type { Currency, Language } from '@berth/contract/limits'
import {
  type Decimals,
  formatAmount,
  formatExact,
  formatParts,
  formatRate,
  isCurrency,
  microFromCents,
} from '@berth/contract/money'
import type { TFunction } from 'i18next'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'

/** Moments further away than this say their year: a day and a month alone would be taken for those of another one. */
const YEAR_SAID_FROM_MS = 300 * 24 * 3_600_000

const HOUR_S = 3_600
const DAY_S = 86_400
/** Below this, a span is said in hours: "31 h" is easier to plan with than "1 d 7 h". */
const DAYS_FROM_S = 3 * DAY_S

/** Day before month, and a clock of 24 hours, in all four languages. */
const LOCALES: Record<Language, string> = { en: 'en-GB', zh: 'zh-CN', ja: 'ja-JP', ko: 'ko-KR' }

/** A unit of time, as the `units` part of the common texts spells it. */
export type TimeUnit = 'd' | 'h' | 'm' | 's'

/**
 * Cuts a span into the units that it is said in: the two largest that matter, three when `exact`.
 * @param seconds Negative counts as zero; fractions are cut.
 * @param exact Down to the second, for receipts.
 * @returns Units from large to small; never empty.
 */
export function durationParts(seconds: number, exact = false): { unit: TimeUnit; value: number }[] {
  const whole = Math.max(0, Math.floor(seconds))
  const all: { unit: TimeUnit; value: number }[] =
    !exact && whole >= DAYS_FROM_S
      ? [
          { unit: 'd', value: Math.floor(whole / DAY_S) },
          { unit: 'h', value: Math.floor((whole % DAY_S) / HOUR_S) },
        ]
      : [
          { unit: 'h', value: Math.floor(whole / HOUR_S) },
          { unit: 'm', value: Math.floor((whole % HOUR_S) / 60) },
          { unit: 's', value: whole % 60 },
        ]
  const first = all.findIndex(part => part.value > 0)
  if (first < 0) return [{ unit: 's', value: 0 }]
  const parts = all.slice(first)
  if (exact) return parts
  // Seconds beside hours, and a trailing zero, tell nothing.
  return parts.slice(0, 2).filter((part, index) => index === 0 || part.value > 0)
}

/** What a rate is for one of. */
type RateUnit = 'h' | 'day' | 'gb'

/** What `useFormat` gives: every way in which the console writes a figure, in the interface's language. */
export interface Format {
  /** An amount: `$1,204.50`, with a real minus. From micro-units, or a decimal string of them. */
  money: (micro: bigint | string, currency: string) => string
  /** All that the ledger holds of an amount: `$0.002917`. */
  exactMoney: (micro: bigint | string, currency: string) => string
  /** Amounts that are read beside their sum, and the sum: what is read adds up. */
  moneyParts: (
    micros: readonly (bigint | string)[],
    currency: string,
    decimals?: Decimals,
  ) => { parts: string[]; total: string }
  /** An amount that the wire gives in cents. */
  cents: (cents: number, currency: string) => string
  /** An amount with its sign, for rows that go both ways: `+$30.00`, `−$5.21`. */
  signedMoney: (micro: bigint | string, currency: string, exact?: boolean) => string
  /** A rate with its unit beside it: `$0.84 /h`, four decimals where it is quoted or is not in whole cents. */
  rate: (micro: bigint | string, currency: string, per: RateUnit, quoted?: boolean) => string
  /** Rates beside their sum, with four decimals, as `moneyParts`. */
  rateParts: (
    micros: readonly (bigint | string)[],
    currency: string,
    per: RateUnit,
  ) => { parts: string[]; total: string }
  /** A span: `19 h 11 m`; `6 h 12 m 04 s` when exact. */
  duration: (seconds: number, exact?: boolean) => string
  /** How long a balance lasts, in one unit: `31 h`, `12 d`. */
  runway: (seconds: number) => string
  /** `20 Nov, 18:00`; with its year where that does not go without saying, as the next two. */
  moment: (date: string | Date) => string
  /** `Sun 22 Nov, 01:40` */
  weekdayMoment: (date: string | Date) => string
  /** `18:25:04` */
  clock: (date: string | Date) => string
  /** `22 Nov 2026`: of a moment where the reader is, of a day (`2026-11-22`) that day, wherever that is. */
  date: (date: string | Date) => string
  /** A month of UTC: `November 2026`. */
  month: (month: string) => string
  /** A day of UTC: `Sun 22 Nov`. */
  day: (day: string) => string
  /** As `moment`, in UTC, which bills are in. */
  utcMoment: (date: string | Date) => string
  /** The same to the second: "3 Nov, 14:05:09". */
  utcSecond: (date: string | Date) => string
  /** A plain number with grouped thousands. */
  number: (value: number) => string
}

/**
 * The formats of a language.
 * @param language The interface's language.
 * @param t Reads the `units` part of the common texts.
 */
export function formatsOf(language: Language, t: TFunction<'common'>): Format {
  const { moment, weekdayMoment, clock, date, utcDate, month, day, utcMoment, utcSecond, number } =
    writersOf(language)
  const money: Format['money'] = (micro, currency) => formatAmount(BigInt(micro), currencyOf(currency))
  const exactMoney: Format['exactMoney'] = (micro, currency) =>
    formatExact(BigInt(micro), currencyOf(currency))
  const moneyParts: Format['moneyParts'] = (micros, currency, decimals) =>
    formatParts(micros.map(BigInt), currencyOf(currency), decimals)
  const rate = (amount: string, per: RateUnit) => t(`units.per_${per}`, { amount })
  const unit = (part: { unit: TimeUnit; value: number }, pad: boolean) =>
    t(`units.${part.unit}`, { value: pad ? String(part.value).padStart(2, '0') : String(part.value) })

  return {
    money,
    cents: (cents, currency) => money(microFromCents(cents), currency),
    signedMoney: (micro, currency, exact = false) => {
      const text = exact ? exactMoney(micro, currency) : money(micro, currency)
      return BigInt(micro) > 0n ? `+${text}` : text
    },
    exactMoney,
    moneyParts,
    rate: (micro, currency, per, quoted = false) =>
      rate(formatRate(BigInt(micro), currencyOf(currency), quoted), per),
    rateParts: (micros, currency, per) => {
      const { parts, total } = moneyParts(micros, currency, 4)
      return { parts: parts.map(part => rate(part, per)), total: rate(total, per) }
    },
    duration: (seconds, exact) =>
      durationParts(seconds, exact)
        .map((part, index) => unit(part, index > 0))
        .join(' '),
    runway: seconds => {
      const whole = Math.max(0, Math.floor(seconds))
      if (whole < 60) return unit({ unit: 's', value: whole }, false)
      if (whole < HOUR_S) return unit({ unit: 'm', value: Math.floor(whole / 60) }, false)
      if (whole < DAYS_FROM_S) return unit({ unit: 'h', value: Math.floor(whole / HOUR_S) }, false)
      return unit({ unit: 'd', value: Math.floor(whole / DAY_S) }, false)
    },
    moment: value => moment(isFar(value)).format(new Date(value)),
    weekdayMoment: value =>
      weekdayMoment(isFar(value))
        .format(new Date(value))
        .replace(/^(\w+), /, '$1 '),
    clock: value => clock().format(new Date(value)),
    date: value => (isDay(value) ? utcDate() : date()).format(new Date(value)),
    month: value => month().format(new Date(`${value}-01T00:00:00Z`)),
    day: value => day().format(new Date(`${value}T00:00:00Z`)),
    utcMoment: value => utcMoment(isFar(value)).format(new Date(value)),
    utcSecond: value => utcSecond(isFar(value)).format(new Date(value)),
    number: value => number().format(value),
  }
}

/** A day without an hour is read as its first moment in UTC, which west of there lies in the day before. */
function isDay(value: string | Date): boolean {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value)
}

function isFar(value: string | Date): boolean {
  return Math.abs(new Date(value).getTime() - Date.now()) > YEAR_SAID_FROM_MS
}

interface Writers {
  moment: (withYear: boolean) => Intl.DateTimeFormat
  weekdayMoment: (withYear: boolean) => Intl.DateTimeFormat
  clock: () => Intl.DateTimeFormat
  date: () => Intl.DateTimeFormat
  utcDate: () => Intl.DateTimeFormat
  month: () => Intl.DateTimeFormat
  day: () => Intl.DateTimeFormat
  utcMoment: (withYear: boolean) => Intl.DateTimeFormat
  utcSecond: (withYear: boolean) => Intl.DateTimeFormat
  number: () => Intl.NumberFormat
}

const writers = new Map<Language, Writers>()

/**
 * The browser's own writers of a language. Each takes as long to make as a page takes to draw a dozen rows, so it is
 * made when it is first needed, and once for all components.
 */
function writersOf(language: Language): Writers {
  const known = writers.get(language)
  if (known) return known
  const locale = LOCALES[language]
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const day = { day: 'numeric', month: 'short' } as const
  const made = {
    moment: momentsOf(locale, clock),
    weekdayMoment: momentsOf(locale, { weekday: 'short', ...clock }),
    clock: once(() => new Intl.DateTimeFormat(locale, { ...clock, second: '2-digit' })),
    date: once(() => new Intl.DateTimeFormat(locale, { ...day, year: 'numeric' })),
    utcDate: once(() => new Intl.DateTimeFormat(locale, { ...day, year: 'numeric', timeZone: 'UTC' })),
    month: once(() => new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })),
    day: once(() => new Intl.DateTimeFormat(locale, { weekday: 'short', ...day, timeZone: 'UTC' })),
    utcMoment: momentsOf(locale, { ...clock, timeZone: 'UTC' }),
    utcSecond: momentsOf(locale, { ...clock, second: '2-digit', timeZone: 'UTC' }),
    number: once(() => new Intl.NumberFormat(locale)),
  }
  writers.set(language, made)
  return made
}

/** Writers of moments without and with their year. */
function momentsOf(locale: string, parts: Intl.DateTimeFormatOptions): Writers['moment'] {
  const shown = { day: 'numeric', month: 'short', ...parts } as const
  const short = once(() => new Intl.DateTimeFormat(locale, shown))
  const long = once(() => new Intl.DateTimeFormat(locale, { ...shown, year: 'numeric' }))
  return withYear => (withYear ? long() : short())
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | null = null
  return () => {
    made ??= make()
    return made
  }
}

/** The formats of the interface's language; they change with it. */
export function useFormat(): Format {
  const { t, i18n } = useTranslation('common')
  return useMemo(() => formatsOf(languageOf(i18n.language), t), [i18n.language, t])
}

function languageOf(tag: string): Language {
  return tag === 'zh' || tag === 'ja' || tag === 'ko' ? tag : 'en'
}

function currencyOf(currency: string): Currency {
  return isCurrency(currency) ? currency : 'USD'
}
