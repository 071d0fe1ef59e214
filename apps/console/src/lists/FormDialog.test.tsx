import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { FormDialog } from './FormDialog.tsx'

describe('a dialog around a form', () => {
  test.each([
    { how: 'closes by its cross and by Escape', when: {}, cross: 'works', closed: 2 },
    { how: 'closes by nothing while it stays', when: { stays: true }, cross: 'is off', closed: 0 },
    {
      how: 'has no cross where what it holds closes it',
      when: { closedInside: true },
      cross: 'none',
      closed: 0,
    },
  ])('$how', async ({ when, cross, closed }) => {
    let closings = 0
    await renderInPage(() => (
      <FormDialog title="New key" opened onClose={() => closings++} {...when}>
        <input aria-label="Name" />
      </FormDialog>
    ))
    await userEvent.type(await screen.findByLabelText('Name'), 'a{Escape}')
    const button = screen.queryByRole<HTMLButtonElement>('button', { name: 'Close' })
    expect(button === null ? 'none' : button.disabled ? 'is off' : 'works').toBe(cross)
    if (button) await userEvent.click(button)
    expect(closings).toBe(closed)
  })
})
