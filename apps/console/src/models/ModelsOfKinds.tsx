import { listModels, type Model, type ModelKind } from '@berth/contract/models'
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useMemo } from 'react'
import { queryOf } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { useSession } from '../app/session/session.ts'
import { Answer } from '../ui/Answer.tsx'
import { EmptyState } from '../ui/EmptyState.tsx'
import { ModelsBar } from './ModelsBar.tsx'

const modelsQuery = queryOf(listModels, {})

/** Starts the query of a page that uses models while its code is still being drawn. */
export function prefetchModels(): void {
  void queryClient.prefetchQuery(modelsQuery)
}

interface ModelsOfKindsProps {
  /** Of which kinds they are. */
  kinds: readonly ModelKind[]
  /** What the page is, for those who do not see it. */
  title: string
  /** Said where there is none of them. */
  none: { title: string; hint: string }
  /** The page with those that there are. */
  children: (models: readonly Model[]) => ReactNode
}

/** The models that a page has to choose from, as they are waited for, lacking or there. */
export function ModelsOfKinds({ kinds, title, none, children }: ModelsOfKindsProps) {
  const { user } = useSession()
  const query = useQuery(modelsQuery)
  const { data } = query
  const able = useMemo(() => data?.filter(({ kind }) => kinds.includes(kind)), [data, kinds])
  return (
    <Answer query={query} data={able} rows={6}>
      {models =>
        models.length === 0 ? (
          <>
            <ModelsBar />
            <h1 className="said">{title}</h1>
            <EmptyState {...none} />
          </>
        ) : (
          // Whoever signs in or out begins anew.
          <Fragment key={user?.id ?? ''}>{children(models)}</Fragment>
        )
      }
    </Answer>
  )
}
