import { getDeployTemplate, getInstanceSetup } from '@berth/contract/deploy-templates'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import * as z from 'zod'
import { queryOf } from '../../../api/queries.ts'
import { usePageSearch } from '../../../app/search.ts'

/** What the form is to be filled with, in the page's address: a template's id or an instance's; empty texts for nothing. */
export interface SetupSource {
  template: string
  like: string
}

/** `spec` is the page's own choice: it follows what is repeated. */
const setupSearch = z.object({
  template: z.string().max(64).catch(''),
  like: z.string().max(64).catch(''),
  spec: z.string().max(64).catch(''),
})

export type EarlierSetup = ReturnType<typeof useSetup>

/**
 * The deploy that is repeated, as the page's address says.
 * @returns `key` changes with what is repeated; `setup` is null for a form of its own, and while it is read.
 */
export function useSetup() {
  const [{ template, like, spec }, setSearch] = usePageSearch(setupSearch)
  const ofTemplate = useQuery({
    ...queryOf(getDeployTemplate, { params: { id: template } }),
    enabled: template !== '',
  })
  const ofInstance = useQuery({
    ...queryOf(getInstanceSetup, { params: { id: like } }),
    enabled: template === '' && like !== '',
  })
  const query = template === '' ? ofInstance : ofTemplate
  const isWanted = template !== '' || like !== ''
  const setup = (isWanted && query.data) || null
  const isUnchosen = setup !== null && spec === ''
  useEffect(() => {
    if (isUnchosen) setSearch({ spec: setup.gpu_spec_id })
  }, [isUnchosen, setup, setSearch])
  return {
    key: template || like,
    setup,
    isReading: isWanted && (query.isPending || isUnchosen),
    failure: (isWanted && query.error?.message) || null,
    choose: (source: SetupSource) => setSearch({ ...source, spec: '' }),
  }
}
