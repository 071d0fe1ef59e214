import { listModelFigures, type ModelFigures } from '@berth/contract/model-figures'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { queryOf } from '../api/queries.ts'

/** As often as a gateway reckons them. */
const REFRESH_MS = 60_000

const figuresQuery = queryOf(listModelFigures, {})

/** How models have answered here, by their ids. Where it cannot be read nothing is measured, and nothing else is the worse. */
export function useModelFigures(): ReadonlyMap<string, ModelFigures> {
  const { data } = useQuery({ ...figuresQuery, refetchInterval: REFRESH_MS, meta: { silent: true } })
  return useMemo(() => new Map(data?.map(one => [one.model_id, one])), [data])
}
