import { imageCan } from '@berth/contract/image-actions'
import { communityImages, customImages, officialImages } from '@berth/contract/images'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { usePageSearch } from '../../app/search.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { StaleNote } from '../../ui/StaleNote.tsx'
import { DeployForm } from './DeployForm.tsx'
import { Offers } from './Offers.tsx'
import { EarlierSetups } from './repeat/EarlierSetups.tsx'
import { SetupNote } from './repeat/SetupNote.tsx'
import { useSetup } from './repeat/use-setup.ts'
import { exploreSearch } from './search.ts'
import { WatchList } from './watch/WatchList.tsx'

const DeployProgress = lazyPart(() => import('./DeployProgress.tsx').then(module => module.DeployProgress))

/** Stock changes under the customer's eyes while others deploy. */
const STOCK_REFRESH_MS = 15_000

const specsQuery = queryOf(listGpuSpecs, { body: { region_codes: [] } })

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(specsQuery)
  void queryClient.prefetchQuery(queryOf(allRegions, {}))
  void queryClient.prefetchQuery(queryOf(officialImages, {}))
}

/** Choose a GPU, fill in the machine, see what it costs, deploy it (R1.1). */
export function Page() {
  const { t } = useTranslation('explore')
  const [deployed, setDeployed] = useState<{ id: string; name: string } | null>(null)
  const specs = useQuery({ ...specsQuery, refetchInterval: STOCK_REFRESH_MS })
  const regions = useQuery(queryOf(allRegions, {}))
  const images = useQuery(queryOf(officialImages, {}))
  // Machines can be deployed without these.
  const community = useQuery({ ...queryOf(communityImages, {}), meta: { silent: true } })
  const own = useQuery({ ...queryOf(customImages, {}), meta: { silent: true } })
  const [{ image_id: imageId }] = usePageSearch(exploreSearch)
  const earlier = useSetup()
  const failed = [specs, regions, images].find(query => query.error && !query.data)

  if (failed?.error) {
    return (
      <>
        <PageHeader title={t('title')} />
        <ErrorState
          message={failed.error.message}
          requestId={failed.error.requestId}
          onRetry={() => void Promise.all([specs.refetch(), regions.refetch(), images.refetch()])}
        />
      </>
    )
  }
  // Whose image the address names is known once all of them are.
  const isNaming = imageId !== '' && (community.isPending || own.isPending)
  if (!specs.data || !regions.data || !images.data || earlier.isReading || isNaming) {
    return (
      <>
        <PageHeader title={t('title')} />
        <SkeletonRows rows={6} />
      </>
    )
  }

  const kept = (own.data ?? []).filter(({ status }) => imageCan('deploy', status))
  const all = [...images.data, ...(community.data ?? []), ...kept]
  return (
    <>
      <PageHeader title={t('title')} actions={<EarlierSetups onChoose={earlier.choose} />} />
      <SetupNote earlier={earlier} />
      <WatchList />
      {specs.error && <StaleNote since={specs.dataUpdatedAt} onRetry={() => void specs.refetch()} />}
      <Offers specs={specs.data} regions={regions.data} images={all}>
        {offer => (
          <DeployForm
            // What is repeated is another form.
            key={`${earlier.key} ${imageId}`}
            setup={earlier.setup}
            offer={offer}
            regions={regions.data}
            images={all}
            imageId={imageId}
            onDeployed={(id, name) => setDeployed({ id, name })}
          />
        )}
      </Offers>
      {deployed && (
        <Suspense>
          <DeployProgress id={deployed.id} name={deployed.name} />
        </Suspense>
      )}
    </>
  )
}
