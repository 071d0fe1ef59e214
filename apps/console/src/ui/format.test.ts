import { readFileSync } from 'node:fs'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import i18next, { type TFunction } from 'i18next'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { durationParts, type Format, formatsOf } from './format.ts'

const HOUR = 3_600
const formats = {} as Record<Language, Format>

beforeAll(async () => {
  for (const language of LANGUAGES) formats[language] = formatsOf(language, await textsOf(language))
})

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [60, '1 m'],
  [3_599, '59 m 59 s'],
  [3_600, '1 h'],
  [3_780, '1 h 03 m'],
  [19 * HOUR + 11 * 60 + 40, '19 h 11 m'],
  [71 * HOUR, '71 h'],
  [72 * HOUR, '3 d'],
  [12 * 24 * HOUR + 4 * HOUR + 59, '12 d 04 h'],
  [-5, '0 s'],
])('a span of %i s is said in the units that matter', (seconds, text) => {
  expect(formats.en.duration(seconds)).toBe(text)
})

test.each([
  [0, '0 s'],
  [40, '40 s'],
  [6 * HOUR + 12 * 60 + 4, '6 h 12 m 04 s'],
  [30 * 24 * HOUR, '720 h 00 m 00 s'],
])('a receipt says %i s to the second', (seconds, text) => {
  expect(formats.en.duration(seconds, true)).toBe(text)
})

test('a span never comes out empty', () => {
  for (const seconds of [Number.NaN, -1, 0, 0.4]) expect(durationParts(seconds).length).toBeGreaterThan(0)
})

test.each([
  [59, '59 s'],
  [1_859, '30 m'],
  [31 * HOUR + 1_800, '31 h'],
  [400 * HOUR, '16 d'],
])('a runway of %i s is one figure', (seconds, text) => {
  expect(formats.en.runway(seconds)).toBe(text)
})

test('[R3.6] balances come in cents and are shown with two decimals and their sign', () => {
  expect(formats.en.cents(4_187, 'USD')).toBe('$41.87')
  expect(formats.en.cents(-45, 'USD')).toBe('−$0.45')
  expect(formats.en.signedMoney(30_000_000n, 'USD')).toBe('+$30.00')
  expect(formats.en.signedMoney('-5210000', 'EUR')).toBe('−€5.21')
})

test('a rate carries its unit, and four decimals where it is quoted', () => {
  expect(formats.en.rate('842800', 'USD', 'h', true)).toBe('$0.8428 /h')
  expect(formats.en.rate('840000', 'USD', 'h')).toBe('$0.84 /h')
  expect(formats.en.rate('842800', 'USD', 'h')).toBe('$0.8428 /h')
  expect(formats.ja.rate('70000', 'USD', 'day')).toBe('$0.07 /日')
})

test('[R1.9] spans and dates follow the language', () => {
  sinceAutumn()
  expect(formats.zh.duration(3_780)).toBe('1 小时 03 分')
  expect(formats.ko.duration(3_780)).toBe('1시간 03분')
  expect(formats.en.weekdayMoment(new Date(2026, 10, 22, 1, 40))).toBe('Sun 22 Nov, 01:40')
  expect(formats.en.moment(new Date(2026, 10, 20, 18, 0))).toBe('20 Nov, 18:00')
  expect(formats.ja.date(new Date(2026, 10, 20))).toBe('2026年11月20日')
})

test('[R2.27] a moment of another year says which; one near by says it where it could be mistaken', () => {
  sinceAutumn()
  expect(formats.en.moment(new Date(2025, 10, 20, 18, 0))).toBe('20 Nov 2025, 18:00')
  expect(formats.en.weekdayMoment(new Date(2028, 6, 12, 21, 14))).toBe('Wed 12 Jul 2028, 21:14')
  expect(formats.en.weekdayMoment(new Date(2027, 0, 19, 19, 1))).toBe('Tue 19 Jan, 19:01')
  expect(formats.en.utcMoment('2025-03-10T12:00:00.000Z')).toBe('10 Mar 2025, 12:00')
  expect(formats.ja.moment(new Date(2025, 10, 20, 18, 0))).toBe('2025年11月20日 18:00')
})

test('[R2.27] a day is called by its own name west and east of UTC; a moment by the day where its reader is', async () => {
  onTestFinished(() => {
    vi.unstubAllEnvs()
    vi.resetModules()
  })
  const said = async (zone: string) => {
    vi.stubEnv('TZ', zone)
    // The browser's writers are made once: a reader elsewhere has their own.
    vi.resetModules()
    const { date } = (await import('./format.ts')).formatsOf('en', await textsOf('en'))
    return [date('2026-11-13'), date('2026-11-13T00:30:00.000Z')]
  }
  expect(await said('America/Los_Angeles')).toEqual(['13 Nov 2026', '12 Nov 2026'])
  expect(await said('Asia/Tokyo')).toEqual(['13 Nov 2026', '13 Nov 2026'])
})

/** The time that these tests are of. */
function sinceAutumn(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 10, 20, 12) })
  onTestFinished(() => void vi.useRealTimers())
}

async function textsOf(language: Language): Promise<TFunction<'common'>> {
  const file = new URL(`../../public/locales/${language}/common.json`, import.meta.url)
  const instance = i18next.createInstance()
  await instance.init({
    lng: language,
    defaultNS: 'common',
    resources: { [language]: { common: JSON.parse(readFileSync(file, 'utf8')) } },
    interpolation: { escapeValue: false },
  })
  return instance.getFixedT(language, 'common') as TFunction<'common'>
}
