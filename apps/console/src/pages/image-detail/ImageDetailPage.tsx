import { getImage, type ImageDetail } from '@berth/contract/images'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { usePageName } from '../../app/page-name.ts'
import { usePageSearch } from '../../app/search.ts'
import { Answer } from '../../ui/Answer.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { AboutCard } from './AboutCard.tsx'
import classes from './ImageDetailPage.module.css'
import { ImageHead } from './ImageHead.tsx'
import { ImageTabs } from './ImageTabs.tsx'
import { MachineCard } from './MachineCard.tsx'
import { imageDetailSearch } from './search.ts'
import { VersionsCard } from './VersionsCard.tsx'

const queryFor = (id: string) => queryOf(getImage, { params: { id } })

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(search: Record<string, string>): void {
  const { id } = imageDetailSearch.parse(search)
  if (id !== '') void queryClient.prefetchQuery(queryFor(id))
}

/** One image: what it is, what its machine costs, and the way to deploy it; for everybody (R2.3). */
export function Page() {
  const [{ id }] = usePageSearch(imageDetailSearch)
  return id === '' ? <NoImage /> : <OneImage key={id} id={id} />
}

function OneImage({ id }: { id: string }) {
  const query = useQuery(queryFor(id))
  const isGone = query.error?.code === 'not_found'
  usePageName((!isGone && query.data?.name) || null)
  if (isGone) return <NoImage />
  return (
    <Answer query={query} data={query.data} rows={6}>
      {image => <Overview image={image} />}
    </Answer>
  )
}

function Overview({ image }: { image: ImageDetail }) {
  const [{ tab }, change] = usePageSearch(imageDetailSearch)
  return (
    <>
      <ImageHead image={image} />
      <div className={classes.layout}>
        <ImageTabs image={image} tab={tab} onTab={chosen => change({ tab: chosen })} />
        <div className={classes.side}>
          <MachineCard image={image} />
          <AboutCard image={image} />
          {image.versions.length > 0 && (
            <VersionsCard versions={image.versions} onAll={() => change({ tab: 'versions' })} />
          )}
        </div>
      </div>
    </>
  )
}

/** Somebody else's, one that was taken down, and one that never was are told alike. */
function NoImage() {
  const { t } = useTranslation('images')
  return (
    <EmptyState
      title={t('detail.none')}
      hint={t('detail.none_hint')}
      action={
        <Button component={Link} to="/community-image" variant="default">
          {t('detail.none_back')}
        </Button>
      }
    />
  )
}
