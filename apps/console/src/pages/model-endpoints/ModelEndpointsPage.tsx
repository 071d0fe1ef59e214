import { listModels } from '@berth/contract/models'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { ModelsBar } from '../../models/ModelsBar.tsx'
import { Catalogue } from './Catalogue.tsx'

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(queryOf(listModels, {}))
}

/** The hosted models, for everybody (R2.3). */
export function Page() {
  return (
    <>
      <ModelsBar />
      <Catalogue />
    </>
  )
}
