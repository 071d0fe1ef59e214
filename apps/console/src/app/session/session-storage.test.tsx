import { afterEach, expect, test } from 'vitest'
import { clearSessionCookies, readCurrency, readDeviceMark, writeSessionCookies } from './session-storage.ts'

const CUSTOMER = { id: '0195-the-id', email: 'ada+x@example.com' }

afterEach(clearSessionCookies)

test('[R3.1] a session has three cookies: user, company, and one of its own that is kept', () => {
  writeSessionCookies(CUSTOMER)
  const cookies = readCookies()
  expect(cookies).toEqual({
    berth_user_id: 'ada+x@example.com',
    berth_company_id: '0195-the-id',
    berth_session_id: expect.stringMatching(/^[0-9a-f]{24}$/),
  })
  writeSessionCookies({ ...CUSTOMER, id: 'another' })
  expect(readCookies()).toEqual({ ...cookies, berth_company_id: 'another' })
  clearSessionCookies()
  expect(document.cookie).toBe('')
})

test('[R9.3] the currency is euros where the device says so, and dollars else', () => {
  expect(readCurrency()).toBe('USD')
  for (const [kept, currency] of [
    ['EUR', 'EUR'],
    ['GBP', 'USD'],
  ] as const) {
    localStorage.setItem('berth.currency', kept)
    expect(readCurrency()).toBe(currency)
  }
  localStorage.clear()
})

test('a browser marks itself once, by chance, and anew where what it kept is no mark', () => {
  const mark = readDeviceMark()
  expect(mark).toMatch(/^[0-9a-f]{32}$/)
  expect(readDeviceMark()).toBe(mark)
  localStorage.setItem('berth.device', 'no mark')
  expect(readDeviceMark()).not.toBe('no mark')
  localStorage.clear()
  expect(readDeviceMark()).not.toBe(mark)
  localStorage.clear()
})

function readCookies() {
  const pairs = document.cookie.split('; ').map(pair => pair.split('='))
  return Object.fromEntries(pairs.map(([name, value = '']) => [name, decodeURIComponent(value)]))
}
