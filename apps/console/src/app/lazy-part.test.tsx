import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { screen } from '@testing-library/react'
import { Suspense } from 'react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { createParts } from './lazy-part.ts'

const Part = () => <p>A part</p>
/** Runs what waits for an idle browser, and lets what it fetches arrive. */
async function idle(turns: (() => void)[]): Promise<void> {
  turns.shift()?.()
  await new Promise(resolve => setTimeout(resolve))
}

test('what floats is fetched once the page is idle, one after the other, also where one is lost', async () => {
  const turns: (() => void)[] = []
  const { lazyPart, fetchParts } = createParts(work => turns.push(work))
  const [lost, second, late] = [vi.fn(async () => Part), vi.fn(async () => Part), vi.fn(async () => Part)]
  lost.mockRejectedValueOnce(new Error('no network'))
  lazyPart(lost)
  lazyPart(second)
  expect(turns, 'the page itself comes first').toHaveLength(0)
  fetchParts()
  expect(turns).toHaveLength(1)
  await idle(turns)
  expect([lost, second].map(load => load.mock.calls.length)).toEqual([1, 0])
  await idle(turns)
  expect(second).toHaveBeenCalledOnce()
  // Another page was opened meanwhile.
  lazyPart(late)
  await idle(turns)
  expect(late).toHaveBeenCalledOnce()
  expect(turns).toHaveLength(0)
})

test('a part that is drawn before it was fetched, or whose fetching failed, is asked for then', async () => {
  const { lazyPart } = createParts(() => undefined)
  const load = vi.fn(async () => Part)
  load.mockRejectedValueOnce(new Error('a lost packet'))
  const Late = lazyPart(load)
  await renderInPage(() => (
    <Suspense fallback="Loading">
      <Late />
    </Suspense>
  ))
  expect(await screen.findByText('A part')).toBeTruthy()
})

test('all that comes late is fetched ahead of its use, but for what says why not', () => {
  const root = join(import.meta.dirname, '..')
  const lazily = globSync('**/*.{ts,tsx}', { cwd: root }).filter(
    file => !file.includes('.test.') && /\blazy\(/.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(lazily.toSorted()).toEqual([
    'app/Providers.tsx', // toasts, which have a way of their own
    'app/lazy-part.ts',
    'pages/auth/LoginForm.tsx', // the captcha of another service
    'pages/settings/sections.ts', // pages rather than parts
    'pages/terminal/TerminalPage.tsx', // drawn at once
  ])
})
