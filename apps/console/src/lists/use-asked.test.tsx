import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { useAsked } from './use-asked.ts'

function Page() {
  const asked = useAsked<string>()
  const [there, setThere] = useState(true)
  return (
    <>
      <div ref={asked.fallback}>
        <button type="button">Add</button>
      </div>
      {there && (
        <button type="button" onClick={() => asked.ask('row')}>
          Remove row
        </button>
      )}
      {asked.opened && (
        <div role="dialog">
          <button type="button" onClick={asked.close}>
            Cancel
          </button>
          <button
            type="button"
            onClick={() => {
              setThere(false)
              asked.close()
            }}
          >
            Do it
          </button>
        </div>
      )}
    </>
  )
}

const press = (name: string) => userEvent.click(screen.getByRole('button', { name }))
const focused = () => document.activeElement?.textContent

test('a dialog gives the focus back to what opened it', async () => {
  await renderInPage(Page)
  await press('Remove row')
  await press('Cancel')
  await waitFor(() => expect(focused()).toBe('Remove row'))
})

test('where that is gone with its row, the button that stays gets the focus', async () => {
  await renderInPage(Page)
  await press('Remove row')
  await press('Do it')
  await waitFor(() => expect(focused()).toBe('Add'))
})
