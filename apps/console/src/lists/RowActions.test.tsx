import { listInstances } from '@berth/contract/instances'
import { IconPlayerStop, IconTrash } from '@tabler/icons-react'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls } from '../gateway-fixture.tsx'
import { RowActions } from './RowActions.tsx'
import { RowMenu } from './RowMenu.tsx'
import type { RowActionItem } from './row-action.ts'

const ITEMS: RowActionItem<string>[] = [
  { action: 'stop', label: 'Stop', icon: IconPlayerStop, reason: 'Only while the instance is running' },
  { action: 'terminate', label: 'Terminate', icon: IconTrash, reason: null, danger: true },
]

describe('the menu of a row', () => {
  test('keeps in sight what is off, says why, and does nothing when it is pressed', async () => {
    const asked: string[] = []
    await renderInPage(() => (
      <RowMenu label="All actions of llama" items={ITEMS} onAsk={action => asked.push(action)} />
    ))
    const stop = await screen.findByRole('menuitem', { name: /Stop/ })
    expect(stop.getAttribute('aria-disabled')).toBe('true')
    expect(stop.textContent).toContain('Only while the instance is running')
    await userEvent.click(stop)
    expect(asked).toEqual([])
    await userEvent.click(screen.getByRole('menuitem', { name: 'Terminate' }))
    expect(asked).toEqual(['terminate'])
  })

  test('gives the focus back to its button when it closes, the first time too', async () => {
    await answerCalls()
    await renderInPage(() => (
      <RowActions
        rowKey="a"
        primary={{ action: 'stop', label: 'Stop', said: 'Stop: llama', call: listInstances, off: null }}
        menuLabel="All actions of llama"
        items={() => ITEMS}
        onAsk={() => undefined}
      />
    ))
    const button = () => screen.getByRole('button', { name: 'All actions of llama' })
    await userEvent.click(button())
    await screen.findByRole('menu')
    await userEvent.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByRole('menu')).toBeNull())
    expect(document.activeElement).toBe(button())
  })
})
