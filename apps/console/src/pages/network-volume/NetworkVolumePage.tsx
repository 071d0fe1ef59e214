import { createVolume, listVolumes, type Volume } from '@berth/contract/volumes'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import { menuButtonOf } from '../../lists/row-action.ts'
import { useAsked } from '../../lists/use-asked.ts'
import { useFilters } from '../../lists/use-filters.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './NetworkVolumePage.module.css'
import { volumeSearch } from './search.ts'
import type { VolumeAction } from './volume-actions.ts'
import { useVolumeColumns } from './volume-columns.tsx'

const CreateVolumeDialog = lazyPart(() =>
  import('./CreateVolumeDialog.tsx').then(module => module.CreateVolumeDialog),
)
const DIALOGS = {
  s3: lazyPart(() => import('./S3Dialog.tsx').then(module => module.S3Dialog)),
  snapshots: lazyPart(() => import('./SnapshotsDialog.tsx').then(module => module.SnapshotsDialog)),
  grow: lazyPart(() => import('./GrowVolumeDialog.tsx').then(module => module.GrowVolumeDialog)),
  attach: lazyPart(() => import('./AttachDialog.tsx').then(module => module.AttachDialog)),
  detach: lazyPart(() => import('./DetachDialog.tsx').then(module => module.DetachDialog)),
  rename: lazyPart(() => import('./RenameVolumeDialog.tsx').then(module => module.RenameVolumeDialog)),
  delete: lazyPart(() => import('./DeleteVolumeDialog.tsx').then(module => module.DeleteVolumeDialog)),
  details: lazyPart(() => import('./VolumeDetailsDialog.tsx').then(module => module.VolumeDetailsDialog)),
} satisfies Record<VolumeAction, unknown>

/** While something changes it is followed by the second; otherwise only now and then. */
const POLL_CHANGING_MS = 1_000
const POLL_RESTING_MS = 10_000
const CHANGING: readonly Volume['status'][] = ['creating', 'growing', 'deleting']

const listQuery = queryOf(listVolumes, { query: {} })
const fallbackOf = ({ volume }: Asked) => menuButtonOf(volume.id)

interface Asked {
  action: VolumeAction
  volume: Volume
}

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(listQuery)
}

/** The customer's network volumes, who has them and what they cost (R1.2, R3.11). */
export function Page() {
  const { t } = useTranslation(['volumes', 'common'])
  const filters = useFilters(volumeSearch)
  const list = useQuery({
    ...listQuery,
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => CHANGING.includes(status)) ? POLL_CHANGING_MS : POLL_RESTING_MS,
  })
  const { data } = list
  const creating = useAsked<true>()
  const asked = useAsked<Asked>({ fallbackOf })
  const { ask } = asked
  const columns = useVolumeColumns(useCallback((action, volume) => ask({ action, volume }), [ask]))

  const { region } = filters.values
  const found = find(data ?? [], filters.typed)
  const rows = region === '' ? found : found.filter(({ region_code }) => region_code === region)
  const regions = new Map((data ?? []).map(({ region_code, region_name }) => [region_code, region_name]))
  const createButton = (
    <VerifiedButton
      call={createVolume}
      leftSection={<IconPlus size={16} />}
      onClick={() => creating.ask(true)}
    >
      {t('create.open')}
    </VerifiedButton>
  )
  // What it is about goes on being read behind the dialog.
  const volume = data?.find(({ id }) => id === asked.what?.volume.id) ?? asked.what?.volume
  const Dialog = asked.what && DIALOGS[asked.what.action]
  return (
    <>
      <PageHeader
        title={t('common:titles.network-volume')}
        second={<BurnOf volumes={data} />}
        actions={<div ref={creating.fallback}>{createButton}</div>}
      />
      {data && data.length > 0 && (
        <ListBar filters={filters} findLabel={t('find')}>
          {regions.size > 1 && (
            <SegmentedFilter
              label={t('columns.region')}
              value={region}
              onChange={chosen => filters.change({ region: chosen })}
              options={[
                { value: '', label: t('all_regions'), count: found.length },
                ...[...regions].map(([value, label]) => ({
                  value,
                  label,
                  count: found.filter(({ region_code }) => region_code === value).length,
                })),
              ]}
            />
          )}
        </ListBar>
      )}
      <Card padding="none">
        <List
          label={t('label')}
          query={list}
          rows={data && rows}
          keyOf={({ id }) => id}
          columns={columns}
          none={{ title: t('empty.title'), hint: t('empty.hint'), action: createButton }}
          noneFound={
            data &&
            data.length > 0 && {
              title: t('empty.none_match'),
              action: <LinkButton onClick={filters.reset}>{t('empty.show_all')}</LinkButton>,
            }
          }
        />
      </Card>
      {data && data.length > 0 && <p className={classes.note}>{t('note')}</p>}
      <Suspense>
        {creating.what && <CreateVolumeDialog opened={creating.opened} onClose={creating.close} />}
        {Dialog && volume && (
          <Dialog
            key={`${asked.what?.action} ${volume.id}`}
            volume={volume}
            opened={asked.opened}
            onClose={asked.close}
          />
        )}
      </Suspense>
    </>
  )
}

/** How much there is of them, and what all of them cost. */
function BurnOf({ volumes }: { volumes: readonly Volume[] | undefined }) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const [first] = volumes ?? []
  // Keeps the line's height, so that nothing moves when the answer comes.
  if (!volumes || !first) return volumes ? t('second_none') : '\u00a0'
  const microPerDay = volumes.reduce((sum, { micro_per_day }) => sum + BigInt(micro_per_day), 0n)
  const gb = volumes.reduce((sum, { size_gb }) => sum + size_gb, 0)
  return t('second', {
    gb: format.number(gb),
    rate: format.rate(microPerDay, first.currency, 'day', true),
  })
}

function find(volumes: readonly Volume[], text: string): readonly Volume[] {
  const wanted = plain(text.trim())
  return wanted === ''
    ? volumes
    : volumes.filter(({ name, id }) => [name, id].some(field => plain(field).includes(wanted)))
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
