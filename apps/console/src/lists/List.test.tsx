import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../api/api-error.ts'
import { renderInPage } from '../component-fixture.tsx'
import type { Column } from '../ui/RowTable.tsx'
import { List } from './List.tsx'

interface Ship {
  id: string
  name: string
}

const SHIPS: Ship[] = [
  { id: 'a', name: 'Anna' },
  { id: 'b', name: 'Berta' },
]
const COLUMNS: Column<Ship>[] = [{ key: 'name', header: 'Name', narrow: 'name', cell: ({ name }) => name }]
const IDLE = { error: null, refetch: () => undefined, dataUpdatedAt: Date.UTC(2026, 10, 20, 18, 22) }
const REFUSED = new ApiError({
  code: 'internal',
  message: 'Internal server error',
  status: 500,
  operation: 'ship.list',
  requestId: 'req-7',
})

function show(part: Partial<Parameters<typeof List<Ship>>[0]>) {
  return renderInPage(() => (
    <List
      label="Ships"
      query={IDLE}
      rows={SHIPS}
      keyOf={({ id }) => id}
      columns={COLUMNS}
      none={{ title: 'No ships', hint: 'Build one.' }}
      {...part}
    />
  ))
}

describe('a list', () => {
  test('shows its rows under its headers', async () => {
    await show({})
    const table = screen.getByRole('table', { name: 'Ships' })
    expect(within(table).getByRole('columnheader', { name: 'Name' })).toBeDefined()
    expect(within(table).getAllByRole('row')).toHaveLength(3)
    expect(screen.queryByText('No ships')).toBeNull()
  })

  test('says that it loads while nothing is known, and nothing else', async () => {
    await show({ rows: undefined })
    expect(screen.getByRole('status').textContent).toContain('Loading')
    expect(screen.queryByRole('table')).toBeNull()
    expect(screen.queryByText('No ships')).toBeNull()
  })

  test('says why it failed, with the id for support, and tries again when asked to', async () => {
    let tries = 0
    await show({ rows: undefined, query: { ...IDLE, error: REFUSED, refetch: () => (tries += 1) } })
    const alert = screen.getByRole('alert')
    expect(alert.textContent).toContain('Internal server error')
    expect(alert.textContent).toContain('req-7')
    await userEvent.click(within(alert).getByRole('button'))
    expect(tries).toBe(1)
  })

  test('keeps the rows that are there while a later look fails, says of when they are, and looks again', async () => {
    let tries = 0
    await show({ query: { ...IDLE, error: REFUSED, refetch: () => (tries += 1) } })
    expect(screen.getByRole('table')).toBeDefined()
    expect(screen.queryByRole('alert')).toBeNull()
    const note = screen.getByRole('status')
    expect(note.textContent).toMatch(/This is of .*20/)
    await userEvent.click(within(note).getByRole('button', { name: 'Try now' }))
    expect(tries).toBe(1)
  })

  test('[R2.28] turns to its last page where an address names one behind it, and says nothing false meanwhile', async () => {
    const turned: number[] = []
    const pages = { page: 99, total: 41, onChange: (page: number) => turned.push(page) }
    await show({ rows: [], pages })
    expect(turned).toEqual([3])
    expect(screen.queryByText('No ships')).toBeNull()
    expect(screen.getByRole('status').textContent).toContain('Loading')
  })

  test('says what to do next when there is nothing, and something else when nothing matches', async () => {
    await show({ rows: [] })
    expect(screen.getByText('Build one.')).toBeDefined()
    expect(screen.queryByRole('table')).toBeNull()
  })

  test('that is narrowed says that nothing matches, not that there is nothing', async () => {
    await show({ rows: [], noneFound: { title: 'No ship matches' } })
    expect(screen.getByText('No ship matches')).toBeDefined()
    expect(screen.queryByText('No ships')).toBeNull()
  })

  test('turns its pages, and stops at both ends', async () => {
    const turned: number[] = []
    await show({ pages: { page: 1, total: 45, onChange: page => turned.push(page) } })
    expect(screen.getByRole('button', { name: 'Newer' })).toHaveProperty('disabled', true)
    await userEvent.click(screen.getByRole('button', { name: 'Older' }))
    expect(turned).toEqual([2])
  })

  test('shows no pager where one page holds it all, or before the total is known', async () => {
    await show({ pages: { page: 1, total: undefined, onChange: () => undefined } })
    expect(screen.queryByRole('button', { name: 'Older' })).toBeNull()
  })
})
