import { screen, within } from '@testing-library/react'
import { expect, onTestFinished, test } from 'vitest'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, Refusal } from './gateway-fixture.tsx'
import { Page as AuthPage } from './pages/auth/AuthPage.tsx'
import { Page as TermsPage } from './pages/terms/TermsPage.tsx'

const settings = {
  brand: { name: 'North', docs_url: '/docs', terms_url: '/terms', logo: null, analytics: null },
  mailbox: false,
}

async function openSignUp(termsOfUse: string): Promise<void> {
  const before = location.href
  history.replaceState(null, '', '/?mode=signup')
  onTestFinished(() => history.replaceState(null, '', before))
  const application = { enableSignUp: true, providers: [], termsOfUse }
  const answers = { 'account.get-application': () => application, 'settings.get': () => settings }
  await answerCalls(answers, { user: null })
  await renderInPage(AuthPage, { namespaces: ['auth'] })
}

test.each([
  ['the brand', '', '/terms'],
  ['the service that keeps the accounts', 'https://id.example/terms', 'https://id.example/terms'],
])('the agreement at sign-up links to the terms of %s, in a tab of their own', async (_, named, href) => {
  await openSignUp(named)
  const checkbox = await screen.findByRole('checkbox', { name: /^I agree to the terms/ })
  await screen.findByRole('link', { name: 'Terms' })
  const link = within(checkbox.closest('form') as HTMLElement).getByRole('link', { name: 'Read the terms' })
  expect(link.getAttribute('href')).toBe(href)
  // What was typed into the form stays in its own tab.
  expect((link as HTMLAnchorElement).target).toBe('_blank')
})

test('the page of terms shows them to whoever has no account, and asks again where they did not come', async () => {
  let answer: unknown = new Refusal([], 'internal', 500)
  await answerCalls({ 'settings.terms': () => answer }, { user: null })
  await renderInPage(TermsPage, { namespaces: ['auth'] })
  const retry = await screen.findByRole('button', { name: 'Try again' })
  answer = { url: '/terms', html: '<h2>Your account</h2>' }
  retry.click()
  expect(await screen.findByRole('heading', { level: 2, name: 'Your account' })).toBeTruthy()
  expect(screen.getByRole('heading', { level: 1, name: 'Terms of use' })).toBeTruthy()
})

test('where a brand keeps its terms elsewhere, the page leads there', async () => {
  await answerCalls({ 'settings.terms': () => ({ url: 'https://north.example/terms', html: null }) })
  await renderInPage(TermsPage, { namespaces: ['auth'] })
  const link = await screen.findByRole('link', { name: 'Read the terms' })
  expect(link.getAttribute('href')).toBe('https://north.example/terms')
})
