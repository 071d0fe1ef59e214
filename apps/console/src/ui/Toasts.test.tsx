import { act, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { drawToast, Toasts } from './Toasts.tsx'
import { startToasts, toast } from './toast.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('[R2.21] a toast stands at the top of the page for three seconds', async () => {
  startToasts(drawToast)
  await renderInPage(Toasts)
  vi.useFakeTimers()
  act(() => toast.good('It is paid.'))
  const shown = screen.getByText('It is paid.')
  expect(shown.closest('[data-position]')?.getAttribute('data-position')).toBe('top-center')
  act(() => vi.advanceTimersByTime(2_900))
  expect(screen.queryByText('It is paid.')).not.toBeNull()
  act(() => vi.advanceTimersByTime(200))
  // It fades out, which is drawn only once its time is over.
  act(() => vi.advanceTimersByTime(200))
  expect(screen.queryByText('It is paid.')).toBeNull()
})

test('a toast that leads somewhere goes there at once, and is gone then', async () => {
  let followed = 0
  startToasts(drawToast)
  await renderInPage(Toasts)
  act(() =>
    toast.good('It starts.', { link: { label: 'Instances', href: '/list', follow: () => followed++ } }),
  )
  const link = screen.getByRole('link', { name: 'Instances' })
  expect(link.getAttribute('href')).toBe('/list')
  act(() => link.click())
  await waitFor(() => expect(screen.queryByText('It starts.')).toBeNull())
  expect(followed).toBe(1)
})
