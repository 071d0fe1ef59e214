import { expect } from '@playwright/test'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

const RHEA = { email: 'rhea@example.org', password: 'Harbour-Light-7', name: 'Rhea' }
const FINN = { email: 'finn@example.net', password: 'Harbour-Light-7', name: 'Finn' }

/** The whole way of a referral: a link that is copied, a friend who signs up by it and tops up, and what each gets. */
test('[R1.6] [R2.11] [R2.13] [R2.28] a friend signs up by the link and tops up ten dollars: each gets five', async ({
  browser,
  gateway,
}) => {
  await signUp(gateway, RHEA)
  await verifyAddress(gateway, RHEA.email)
  const hers = await openSignedIn(browser, gateway, RHEA)
  const rhea = await hers.newPage()
  await rhea.goto('/model-endpoints')
  await rhea.getByRole('banner').getByRole('link', { name: 'Refer & earn' }).click()
  await expect(rhea).toHaveURL(/\/refer-earn$/)
  await expect(rhea.getByText('Nobody has signed up through your link yet')).toBeVisible()
  const link = await rhea.getByRole('textbox', { name: 'Your link' }).inputValue()
  expect(link).toMatch(/\/r\/[\w-]+$/)

  const his = await browser.newContext({ baseURL: gateway.origin })
  const finn = await his.newPage()
  await test.step('the friend opens the link, and signs up by the form that it leads to', async () => {
    await finn.goto(link)
    await finn.getByLabel('Username').fill(FINN.name)
    await finn.getByLabel('Email').fill(FINN.email)
    await finn.getByLabel('Password', { exact: true }).fill(FINN.password)
    await finn.getByLabel('Password, once more').fill(FINN.password)
    await finn.getByLabel('I agree to the terms of use').check()
    await finn.getByRole('button', { name: 'Create account' }).click()
    await expect(finn).not.toHaveURL(/\/auth/)
    const friends = rhea.getByRole('table', { name: 'Invited users' })
    await expect(async () => {
      await rhea.reload()
      await expect(friends.getByText('Not activated')).toBeVisible({ timeout: 2_000 })
    }).toPass()
    // An address is nobody else's to read.
    await expect(friends).toContainText('f…@example.net')
    await expect(friends).not.toContainText(FINN.email)
  })

  await test.step('once he has topped up enough, each has five dollars more', async () => {
    await verifyAddress(gateway, FINN.email)
    await topUp(gateway, FINN)
    await expect(async () => {
      await rhea.reload()
      await expect(rhea.getByText('Recharged', { exact: true })).toBeVisible({ timeout: 2_000 })
    }).toPass()
    // The figures were asked for before the list was; they follow.
    await expect(rhea.getByText('Total earnings').locator('..')).toContainText('$5.00')
    await expect(rhea.getByText('Effective consumers').locator('..')).toContainText('1')
    await lookAt(rhea, 'refer-earn')
    await finn.goto('/payments')
    await expect(finn.getByRole('banner').getByText('$15.00')).toBeVisible()
  })

  await test.step('the menu leads to the same page, at who was invited and what was earned', async () => {
    await rhea.getByRole('link', { name: 'Rebates' }).click()
    await expect(rhea).toHaveURL(/\/refer-earn-details$/)
    await rhea.getByText('Order rewards').click()
    await expect(rhea.getByRole('table', { name: 'Order rewards' })).toContainText('First top-ups')
  })
  await his.close()
  await hers.close()
})
