import { listModelFigures } from '@berth/contract/model-figures'
import { listModels } from '@berth/contract/models'
import { Suspense, useEffect, useRef } from 'react'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { usePageSearch } from '../../app/search.ts'
import { ModelsBar } from '../../models/ModelsBar.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { Catalogue } from './Catalogue.tsx'
import classes from './ModelEndpointsPage.module.css'
import { modelSearch } from './search.ts'

const OneModel = lazyPart(() => import('./OneModel.tsx').then(module => module.OneModel))

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(queryOf(listModels, {}))
  void queryClient.prefetchQuery(queryOf(listModelFigures, {}))
}

/** The hosted models, or the one that the address names, for everybody (R2.3). */
export function Page() {
  const [{ model }] = usePageSearch(modelSearch)
  const top = useFocusOnChange(model)
  return (
    // Ids of models have slashes, so they stand in the query.
    <div ref={top} tabIndex={-1} className={classes.page}>
      <ModelsBar />
      {model === '' ? (
        <Catalogue />
      ) : (
        <Suspense fallback={<SkeletonRows />}>
          <OneModel key={model} id={model} />
        </Suspense>
      )}
    </div>
  )
}

/** Moves the focus to what is shown instead, so that a screen reader goes on from there: the path stays the same. */
function useFocusOnChange(shown: string) {
  const top = useRef<HTMLDivElement>(null)
  const seen = useRef(shown)
  useEffect(() => {
    if (seen.current === shown) return
    seen.current = shown
    top.current?.focus({ preventScroll: true })
  }, [shown])
  return top
}
