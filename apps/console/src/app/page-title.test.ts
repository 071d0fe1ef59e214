import i18next, { type TFunction } from 'i18next'
import { beforeAll, expect, test } from 'vitest'
import common from '../../public/locales/en/common.json'
import { pageTitle } from './page-title.ts'

let t: TFunction<'common'>

beforeAll(async () => {
  await i18next.init({ lng: 'en', defaultNS: 'common', resources: { en: { common } } })
  t = i18next.getFixedT('en', 'common')
})

test.each([
  ['/instance-list', 'Instances'],
  ['/auth', 'Log in'],
  ['/deep/under/payments', 'Payments'],
  ['/some-new_page', 'Some new page (not found)'],
  ['/%E0%A4%A', '%E0%A4%A (not found)'],
  ['/', ''],
])('[R2.10] the title of %s is made from its last segment: %s', (path, title) => {
  expect(pageTitle(path, t)).toBe(title)
})
