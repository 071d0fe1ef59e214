import i18next from 'i18next'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { loadTexts, startI18n, TextsLost } from './i18n.ts'

beforeEach(() => {
  // Another file of the same process may have given texts by hand, which would then be the only ones.
  delete i18next.options.resources
})

test('[R2.9] a page whose texts are lost fails rather than show their names, and has them the next time', async () => {
  let offline = false
  vi.stubGlobal('fetch', async () => {
    if (offline) throw new TypeError('Failed to fetch')
    return Response.json({ title: 'Payments' })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  await startI18n([])
  offline = true
  await expect(loadTexts(['payments'])).rejects.toThrow(TextsLost)
  offline = false
  await loadTexts(['payments'])
  expect(i18next.t('payments:title' as never)).toBe('Payments')
})

test('[R1.9] a Korean text asks for the particle that the name in it wants', async () => {
  vi.stubGlobal('fetch', async () => Response.json({ removed: '{{name, 을를}} 제거했습니다.' }))
  onTestFinished(() => void vi.unstubAllGlobals())
  await startI18n([])
  await i18next.changeLanguage('ko')
  expect(i18next.t('removed' as never, { name: 'vision-1' })).toBe('vision-1을 제거했습니다.')
  expect(i18next.t('removed' as never, { name: 'vision-2' })).toBe('vision-2를 제거했습니다.')
})
