import { act, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { renderInPage } from '../component-fixture.tsx'
import { ListBar } from './ListBar.tsx'
import { FIND_CHARS_MAX, findText, pageNumber, useFilters } from './use-filters.ts'

const schema = z.object({
  type: z.enum(['all', 'in', 'out']).catch('all'),
  q: findText,
  page: pageNumber,
})

function Page() {
  const filters = useFilters(schema)
  return (
    <>
      <ListBar filters={filters} findLabel="Search">
        <button type="button" onClick={() => filters.change({ type: 'in' })}>
          only in
        </button>
        <button type="button" onClick={() => filters.change({ page: filters.values.page + 1 })}>
          next page
        </button>
        <button type="button" onClick={filters.reset}>
          show all
        </button>
      </ListBar>
      <output>{JSON.stringify({ ...filters.values, narrowed: filters.narrowed })}</output>
    </>
  )
}

const shown = () => JSON.parse(screen.getByRole('status').textContent ?? '')
const field = () => screen.getByRole('searchbox', { name: 'Search' }) as HTMLInputElement
const press = (name: string) => userEvent.click(screen.getByRole('button', { name }))

describe('the filters of a list', () => {
  test('are what the address says, and what makes no sense in it shows all', async () => {
    await renderInPage(Page, { at: '?type=out&q=llama&page=3' })
    expect(shown()).toEqual({ type: 'out', q: 'llama', page: 3, narrowed: true })
    expect(field().value).toBe('llama')
  })

  test.each(['?type=sideways&page=-4', '?page=1e9', `?q=${'x'.repeat(FIND_CHARS_MAX + 1)}`, ''])(
    'shows all for an address that makes no sense: %s',
    async at => {
      await renderInPage(Page, { at })
      expect(shown()).toEqual({ type: 'all', q: '', page: 1, narrowed: false })
    },
  )

  test('stand in the address once they are changed, and begin at the first page', async () => {
    const { search } = await renderInPage(Page, { at: '?page=3' })
    await press('only in')
    await waitFor(() => expect(shown()).toEqual({ type: 'in', q: '', page: 1, narrowed: true }))
    expect(search()).toContain('type=in')
    await press('next page')
    await waitFor(() => expect(shown()).toMatchObject({ type: 'in', page: 2 }))
  })

  test('a search reaches the address when its typing pauses, and begins at the first page', async () => {
    const { search } = await renderInPage(Page, { at: '?type=in&page=5' })
    await userEvent.type(field(), 'fine tune')
    expect(field().value).toBe('fine tune')
    await waitFor(() => expect(search()).toContain('q=fine+tune'))
    expect(shown()).toMatchObject({ type: 'in', q: 'fine tune', page: 1 })
  })

  test('an address from elsewhere changes what stands in the field', async () => {
    const { go } = await renderInPage(Page, { at: '?q=one' })
    await act(() => go('?q=other'))
    await waitFor(() => expect(field().value).toBe('other'))
  })

  test('showing all empties the field, also before its typing has paused', async () => {
    const { search } = await renderInPage(Page, { at: '?type=out' })
    await userEvent.type(field(), 'half')
    await press('show all')
    await waitFor(() => expect(shown()).toEqual({ type: 'all', q: '', page: 1, narrowed: false }))
    expect(field().value).toBe('')
    expect(search()).not.toContain('half')
  })
})
