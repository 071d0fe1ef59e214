import { Modal } from '@mantine/core'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { useFocusBack } from './focus-back.ts'

function Page() {
  const [opened, setOpened] = useState(false)
  useFocusBack(opened)
  return (
    <>
      <button type="button" onClick={() => setOpened(true)}>
        Open
      </button>
      {opened && (
        <Modal opened onClose={() => setOpened(false)} closeButtonProps={{ 'aria-label': 'Close' }}>
          A dialog that is drawn with its opening and is gone with its closing.
        </Modal>
      )}
    </>
  )
}

test('what opened a dialog has the focus again when it is closed, every time', async () => {
  await renderInPage(Page)
  const opener = screen.getByRole('button', { name: 'Open' })
  for (const _ of ['the first time', 'the second time']) {
    await userEvent.click(opener)
    await screen.findByRole('dialog')
    await userEvent.click(screen.getByRole('button', { name: 'Close' }))
    await waitFor(() => expect(document.activeElement).toBe(opener))
  }
})
