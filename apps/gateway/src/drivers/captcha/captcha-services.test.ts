import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { startSiteverify } from '../../../test/siteverify-server.ts'
import { chooseCaptcha } from './choose-captcha.ts'
import { createHcaptcha } from './hcaptcha.ts'
import { CaptchaServiceFailed } from './port.ts'
import { createTurnstile } from './turnstile.ts'

const SECRET = '0x-the-secret'
const KEYS = { siteKey: 'site-key', secret: SECRET }
const FORM = 'application/x-www-form-urlencoded;charset=UTF-8'

let service: Awaited<ReturnType<typeof startSiteverify>>
beforeAll(async () => {
  service = await startSiteverify(SECRET)
})
afterAll(() => service.close())
beforeEach(() => {
  service.answerWith(null)
  service.requests.length = 0
})

describe.each([
  ['Cloudflare Turnstile', createTurnstile, {}],
  ['hCaptcha', createHcaptcha, { sitekey: 'site-key' }],
] as const)('%s', (type, create, more) => {
  test('is asked by a form with the secret, the token and the address', async () => {
    const captcha = create(KEYS, service.url)
    expect(captcha).toMatchObject({ type, siteKey: 'site-key' })
    expect(await captcha.verify(`good & ${type}`, '::ffff:203.0.113.9')).toBe(true)
    expect(service.requests).toEqual([
      {
        method: 'POST',
        contentType: FORM,
        form: { secret: SECRET, response: `good & ${type}`, remoteip: '203.0.113.9', ...more },
      },
    ])
  })

  test('says no to a token that is wrong, and to one that was used', async () => {
    const captcha = create(KEYS, service.url)
    expect(await captcha.verify('made up', '203.0.113.9')).toBe(false)
    expect(await captcha.verify(`good twice ${type}`, '203.0.113.9')).toBe(true)
    expect(await captcha.verify(`good twice ${type}`, '203.0.113.9')).toBe(false)
  })

  test('that does not know the secret has not judged', async () => {
    const captcha = create({ ...KEYS, secret: 'another' }, service.url)
    await expect(captcha.verify('good', '203.0.113.9')).rejects.toThrow(CaptchaServiceFailed)
    await expect(captcha.verify('good', '203.0.113.9')).rejects.not.toThrow(/another/)
  })

  test.each([
    ['an error page', { status: 502, text: '<html>Bad gateway</html>' }],
    ['something else than JSON', { text: '<html>Just a moment</html>' }],
    ['a yes that is none', { text: '{"success":"true"}' }],
    ['a yes with status 500', { status: 500, text: '{"success":true}' }],
    ['a fault of its own', { text: '{"success":false,"error-codes":["internal-error"]}' }],
  ])('that answers with %s has not judged', async (_, answer) => {
    service.answerWith(() => answer)
    await expect(create(KEYS, service.url).verify('good', '::1')).rejects.toThrow(CaptchaServiceFailed)
  })

  test('that cannot be reached has not judged', async () => {
    const captcha = create(KEYS, 'http://127.0.0.1:1/siteverify')
    await expect(captcha.verify('good', '::1')).rejects.toThrow(CaptchaServiceFailed)
  })
})

test('a service that does not answer is given up after five seconds', async () => {
  service.answerWith(() => 'silence')
  const begun = performance.now()
  await expect(createTurnstile(KEYS, service.url).verify('good', '::1')).rejects.toThrow(CaptchaServiceFailed)
  expect(performance.now() - begun).toBeGreaterThan(4_500)
  expect(performance.now() - begun).toBeLessThan(PATIENCE_MS)
})

test('the settings choose the kind, and each names only its own origins', () => {
  expect(chooseCaptcha({ kind: 'default' })).toBe('Default')
  expect(chooseCaptcha({ kind: 'none' })).toBe('none')
  const sources = (kind: 'turnstile' | 'hcaptcha') => {
    const chosen = chooseCaptcha({ kind, ...KEYS })
    return typeof chosen === 'string' ? [] : Object.values(chosen.pageSources).flat()
  }
  expect(new Set(sources('turnstile'))).toEqual(new Set(['https://challenges.cloudflare.com']))
  expect(new Set(sources('hcaptcha'))).toEqual(new Set(['https://hcaptcha.com', 'https://*.hcaptcha.com']))
})
