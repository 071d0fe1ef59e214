import { type CustomImage, customImages, getImagePrice } from '@berth/contract/images'
import { createImage } from '@berth/contract/own-images'
import { formatImageSize } from '@berth/contract/sizes'
import { IconDownload, IconFileCode, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Suspense, useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { searchOf } from '../../app/search.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import type { SheetTask } from '../../images/sheet-task.ts'
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
import { useImageColumns } from './image-columns.tsx'
import classes from './MyImagesPage.module.css'
import type { OwnAction } from './own-image-actions.ts'
import { isShown, myImagesSearch, OWN_FILTERS } from './search.ts'

const ImageSheet = lazyPart(() => import('../../images/ImageSheet.tsx').then(module => module.ImageSheet))
const dialogs = () => import('./OwnImageDialogs.tsx')
const DIALOGS = {
  publish: lazyPart(() => dialogs().then(module => module.PublishDialog)),
  cancel_publishing: lazyPart(() => dialogs().then(module => module.CancelPublishingDialog)),
  make_private: lazyPart(() => dialogs().then(module => module.MakePrivateDialog)),
  cancel_build: lazyPart(() => dialogs().then(module => module.CancelBuildDialog)),
  delete: lazyPart(() => dialogs().then(module => module.DeleteDialog)),
} as const
type DialogAction = keyof typeof DIALOGS

/** What the sheet is opened for. */
const SHEETS: Partial<Record<OwnAction, 'edit' | 'again' | 'version' | 'progress'>> = {
  edit: 'edit',
  new_version: 'version',
  build_again: 'again',
  progress: 'progress',
}

/** What is being made is followed by the second; otherwise only now and then. */
const POLL_CHANGING_MS = 1_000
const POLL_RESTING_MS = 10_000

const listQuery = queryOf(customImages, {})
const priceQuery = queryOf(getImagePrice, {})
const fallbackOf = ({ image }: { image: CustomImage }) => menuButtonOf(image.id)

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(listQuery)
  void queryClient.prefetchQuery(priceQuery)
}

/** The customer's own images: what became of each, what they cost, and how one is made (R3.4, R4.8). */
export function Page() {
  const { t } = useTranslation(['images', 'common'])
  const navigate = useNavigate()
  const filters = useFilters(myImagesSearch)
  const list = useQuery({
    ...listQuery,
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'building' || status === 'deleting')
        ? POLL_CHANGING_MS
        : POLL_RESTING_MS,
  })
  const { data } = list
  const sheet = useAsked<SheetTask>()
  const asked = useAsked<{ action: DialogAction; image: CustomImage }>({ fallbackOf })
  const { ask: openSheet } = sheet
  const { ask: openDialog } = asked
  const onAsk = useCallback(
    (action: OwnAction, image: CustomImage) => {
      const task = SHEETS[action]
      if (task) return openSheet({ task, image })
      if (action in DIALOGS) return openDialog({ action: action as DialogAction, image })
      if (action === 'deploy')
        return void navigate({ to: '/explore', search: searchOf({ image_id: image.id }) })
      const id = image.community_image_id ?? image.id
      return void navigate({ to: '/image-detail', search: searchOf({ id }) })
    },
    [openSheet, openDialog, navigate],
  )
  const columns = useImageColumns(onAsk)

  const { state } = filters.values
  const found = find(data ?? [], filters.typed)
  const rows = found.filter(image => isShown(image, state))
  const fromRegistry = (
    <VerifiedButton
      call={createImage}
      variant="default"
      leftSection={<IconDownload size={16} stroke={1.6} />}
      onClick={() => openSheet({ task: 'registry' })}
    >
      {t('own.from_registry')}
    </VerifiedButton>
  )
  const fromDockerfile = (
    <VerifiedButton
      call={createImage}
      variant="default"
      leftSection={<IconFileCode size={16} stroke={1.6} />}
      onClick={() => openSheet({ task: 'dockerfile' })}
    >
      {t('own.from_dockerfile')}
    </VerifiedButton>
  )
  const fromInstance = (
    <VerifiedButton
      call={createImage}
      leftSection={<IconPlus size={16} />}
      onClick={() => openSheet({ task: 'instance', instance: null })}
    >
      {t('own.create')}
    </VerifiedButton>
  )
  const Dialog = asked.what && DIALOGS[asked.what.action]
  // What it is about goes on being read behind the dialog.
  const image = data?.find(({ id }) => id === asked.what?.image.id) ?? asked.what?.image
  return (
    <>
      <PageHeader
        title={t('common:titles.my-images')}
        second={<Keeping />}
        actions={
          <div ref={sheet.fallback} className={classes.actions}>
            {fromDockerfile}
            {fromRegistry}
            {fromInstance}
          </div>
        }
      />
      {data && data.length > 0 && (
        <ListBar filters={filters} findLabel={t('own.find')}>
          <SegmentedFilter
            label={t('own.columns.state')}
            value={state}
            onChange={chosen => filters.change({ state: chosen })}
            options={OWN_FILTERS.map(value => ({
              value,
              label: t(`own.filters.${value === '' ? 'all' : value}`),
              count: found.filter(image => isShown(image, value)).length,
            }))}
          />
        </ListBar>
      )}
      <Card padding="none">
        <List
          label={t('common:titles.my-images')}
          query={list}
          rows={data && rows}
          keyOf={({ id }) => id}
          columns={columns}
          none={{ title: t('own.empty.title'), hint: t('own.empty.hint'), action: fromInstance }}
          noneFound={
            data &&
            data.length > 0 && {
              title: t('own.empty.none_match'),
              action: <LinkButton onClick={filters.reset}>{t('show_all')}</LinkButton>,
            }
          }
        />
      </Card>
      {data && data.length > 0 && <p className={classes.note}>{t('own.note')}</p>}
      <Suspense>
        {sheet.what && (
          <ImageSheet
            key={keyOfSheet(sheet.what)}
            about={sheet.what}
            opened={sheet.opened}
            onClose={sheet.close}
          />
        )}
        {Dialog && image && (
          <Dialog
            key={`${asked.what?.action} ${image.id}`}
            image={image}
            opened={asked.opened}
            onClose={asked.close}
          />
        )}
      </Suspense>
    </>
  )
}

function keyOfSheet(about: SheetTask): string {
  return 'image' in about ? `${about.task} ${about.image.id}` : about.task
}

/** How much is kept, and what it costs. */
function Keeping() {
  const { t } = useTranslation('images')
  const format = useFormat()
  const { data } = useQuery(priceQuery)
  // Keeps the line's height, so that nothing moves when the answer comes.
  if (!data) return '\u00a0'
  const rate = format.rate(data.micro_per_gb_day, data.currency, 'day', true)
  if (data.size === 0) return t('own.second_none', { rate })
  return t('own.second', {
    size: formatImageSize(data.size),
    rate,
    day: format.rate(data.micro_per_day, data.currency, 'day', true),
  })
}

function find(images: readonly CustomImage[], text: string): readonly CustomImage[] {
  const wanted = plain(text.trim())
  if (wanted === '') return images
  return images.filter(({ name, id, source }) =>
    [name, id, source.instance_name ?? '', source.image_reference ?? '', source.git?.url ?? ''].some(field =>
      plain(field).includes(wanted),
    ),
  )
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
