import { act, fireEvent, screen, within } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import type { Column } from '../ui/RowTable.tsx'
import { List } from './List.tsx'
import { useSelection } from './use-selection.ts'

const ROW_PX = 61
const SEEN_PX = 768

interface Ship {
  id: string
}
const SHIPS: Ship[] = Array.from({ length: 10_000 }, (_, at) => ({ id: String(at) }))
const COLUMNS: Column<Ship>[] = [
  { key: 'id', header: 'Ship', narrow: 'name', cell: ({ id }) => `Ship ${id}` },
]
let keysAsked = 0
const keyOf = ({ id }: Ship) => {
  keysAsked += 1
  return id
}

function Ships() {
  const selection = useSelection({ rows: SHIPS, shown: SHIPS, keyOf, nameOf: ({ id }) => id })
  return (
    <List
      label="Ships"
      query={{ error: null, refetch: () => undefined, dataUpdatedAt: 0 }}
      rows={SHIPS}
      keyOf={keyOf}
      columns={COLUMNS}
      selection={selection}
      none={{ title: 'No ships' }}
    />
  )
}

/** jsdom lays nothing out: each row is given its height. */
function layOut(): void {
  const height = vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(ROW_PX)
  onTestFinished(() => height.mockRestore())
}

const indices = () => screen.getAllByRole('row').map(row => Number(row.getAttribute('aria-rowindex')))

async function scrollTo(px: number): Promise<void> {
  await act(async () => {
    Object.defineProperty(window, 'scrollY', { value: px, configurable: true })
    fireEvent.scroll(window)
  })
  onTestFinished(() => void Object.defineProperty(window, 'scrollY', { value: 0, configurable: true }))
}

test('[R2.26] of ten thousand rows those are drawn that are seen, and screen readers are told which they are', async () => {
  layOut()
  await renderInPage(Ships)
  await vi.waitUntil(() => screen.getByRole('table').hasAttribute('aria-rowcount'))
  const table = screen.getByRole('table', { name: 'Ships' })
  expect(table.getAttribute('aria-rowcount')).toBe('10001')
  expect(indices()[0]).toBe(1)
  expect(indices().length).toBeLessThan(SEEN_PX / ROW_PX + 40)
  expect(within(table).getByText('Ship 0')).toBeDefined()
  await scrollTo(5_000 * ROW_PX)
  expect(within(table).getByText('Ship 5000')).toBeDefined()
  expect(screen.queryByText('Ship 0')).toBeNull()
  const row = within(table).getByText('Ship 5000').closest('tr')
  expect(row?.getAttribute('aria-rowindex')).toBe('5002')
})

test('the row that has the focus stays drawn, however far away, and selecting all takes those that are not drawn', async () => {
  layOut()
  await renderInPage(Ships)
  await vi.waitUntil(() => screen.getByRole('table').hasAttribute('aria-rowcount'))
  const box = screen.getByRole('checkbox', { name: 'Select 3' })
  act(() => box.focus())
  await scrollTo(5_000 * ROW_PX)
  expect(document.activeElement).toBe(box)
  expect(indices()).toContain(5)
  expect(indices()).toEqual(indices().toSorted((one, other) => one - other))
  fireEvent.click(screen.getByRole('checkbox', { name: 'Select all that are shown' }))
  const boxes = screen.getAllByRole<HTMLInputElement>('checkbox', { name: /^Select \d+$/ })
  expect(boxes.every(({ checked }) => checked)).toBe(true)
  await scrollTo(9_000 * ROW_PX)
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select 9000' }).checked).toBe(true)
})

test('[R2.26] scrolling asks nothing of the rows that are not seen: there is a sixtieth of a second for all of it', async () => {
  layOut()
  await renderInPage(Ships)
  await vi.waitUntil(() => screen.getByRole('table').hasAttribute('aria-rowcount'))
  await scrollTo(5_000 * ROW_PX)
  keysAsked = 0
  await scrollTo(5_002 * ROW_PX)
  expect(screen.getByText('Ship 5002')).toBeDefined()
  expect(keysAsked).toBeGreaterThan(0)
  expect(keysAsked).toBeLessThan(SHIPS.length / 20)
})
