import { createEvent, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { RowLink } from './RowLink.tsx'

const open = () =>
  renderInPage(() => (
    <RowLink to="/page" search={{ id: 'i-1' }}>
      llama
    </RowLink>
  ))

test('[R2.26] a row leads to its page by a click or Enter, without a load of the whole console', async () => {
  const page = await open()
  const link = screen.getByRole('link', { name: 'llama' })
  expect(link.getAttribute('href')).toBe('/page?id=i-1')
  const click = createEvent.click(link)
  fireEvent(link, click)
  expect(click.defaultPrevented).toBe(true)
  await waitFor(() => expect(page.search()).toBe('?id=i-1'))
})

test.each([{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { altKey: true }, { button: 1 }])(
  'a click that asks for another tab or window is left to the browser: %o',
  async how => {
    const page = await open()
    const link = screen.getByRole('link', { name: 'llama' })
    const click = createEvent.click(link, how)
    fireEvent(link, click)
    expect(click.defaultPrevented).toBe(false)
    expect(page.search()).toBe('')
  },
)
