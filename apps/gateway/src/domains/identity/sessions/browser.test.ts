import { expect, test } from 'vitest'
import { browserOf } from './browser.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36'

test.each([
  [FIREFOX, 'Firefox', 'Linux'],
  [CHROME, 'Chrome', 'Windows'],
  [`${CHROME} Edg/136.0.0.0`, 'Edge', 'Windows'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1',
    'Safari',
    'iOS',
  ],
  ['curl/8.14.1', 'curl', ''],
  ['Your account is blocked: call +1 555 0100 at evil.example', '', ''],
  ['', '', ''],
])('%s is %s on %s', (userAgent, browser, system) => {
  expect(browserOf(userAgent)).toEqual({ browser, system })
})
