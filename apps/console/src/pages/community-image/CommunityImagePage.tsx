import { communityImages, communityImagesIn, type Image } from '@berth/contract/images'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import { Button, Skeleton, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { useImageWords } from '../../images/use-image-words.ts'
import { ChoiceSelect } from '../../lists/ChoiceSelect.tsx'
import { FIND_CHARS_MAX, type Filters, useFilters } from '../../lists/use-filters.ts'
import { Card } from '../../ui/Card.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { StaleNote } from '../../ui/StaleNote.tsx'
import classes from './CommunityImagePage.module.css'
import { foundImages, type TagCount } from './found-images.ts'
import { ImageCard } from './ImageCard.tsx'
import { type CommunitySearch, communitySearch, IMAGE_SORTS, VRAM_CHOICES } from './search.ts'

/** Cards that are drawn at first, and that each further press adds. */
const CARDS_SHOWN = 60
const SKELETONS = Array.from({ length: 6 }, (_, index) => index)

const specsQuery = queryOf(listGpuSpecs, { body: { region_codes: [] } })
const regionsQuery = queryOf(allRegions, {})

const everywhereQuery = queryOf(communityImages, {})
const inRegionQuery = (region: string) => queryOf(communityImagesIn, { params: { region } })

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(search: Record<string, string>): void {
  const { region } = communitySearch.parse(search)
  if (region === '') void queryClient.prefetchQuery(everywhereQuery)
  else void queryClient.prefetchQuery(inRegionQuery(region))
}

/** The images that customers have published, for everybody (R2.3). */
export function Page() {
  const { t } = useTranslation(['images', 'common'])
  const words = useImageWords()
  const filters = useFilters(communitySearch)
  const { values } = filters
  const all = useQuery({ ...everywhereQuery, enabled: values.region === '' })
  const some = useQuery({ ...inRegionQuery(values.region), enabled: values.region !== '' })
  const list = values.region === '' ? all : some
  const { data, error } = list
  const found = data && foundImages(data, filters.typed, values, words.tag)
  const retry = () => void list.refetch()
  return (
    <>
      <PageHeader title={t('common:titles.community-image')} second={t('community.second')} />
      <Bar filters={filters} />
      {found && <Tags tags={found.tags} total={found.total} filters={filters} />}
      {data === undefined && !error && <Waiting />}
      {data === undefined && error && (
        <ErrorState message={error.message} requestId={error.requestId} onRetry={retry} />
      )}
      {data !== undefined && error && <StaleNote since={list.dataUpdatedAt} onRetry={retry} />}
      {found && found.rows.length > 0 && (
        <Cards key={JSON.stringify(values)} images={found.rows} sort={values.sort} />
      )}
      {found && found.rows.length === 0 && (
        <Card padding="none">
          {filters.narrowed || filters.typed !== '' ? (
            <EmptyState
              title={
                filters.typed === ''
                  ? t('community.none_match')
                  : t('community.none_find', { text: filters.typed })
              }
              hint={t('community.none_match_hint')}
              action={
                <Button variant="default" onClick={filters.reset}>
                  {t('show_all')}
                </Button>
              }
            />
          ) : (
            <EmptyState title={t('community.none')} hint={t('community.none_hint')} />
          )}
        </Card>
      )}
    </>
  )
}

/** What narrows the cards, and their order. */
function Bar({ filters }: { filters: Filters<CommunitySearch> }) {
  const { t } = useTranslation('images')
  const regions = useQuery(regionsQuery)
  const { values, change } = filters
  const known = regions.data?.some(({ code }) => code === values.region) ?? false
  return (
    <div className={classes.bar}>
      <TextInput
        type="search"
        className={classes.find}
        aria-label={t('community.find')}
        placeholder={t('community.find')}
        leftSection={<IconSearch size={16} stroke={1.6} />}
        autoComplete="off"
        spellCheck={false}
        maxLength={FIND_CHARS_MAX}
        value={filters.typed}
        onChange={event => filters.find(event.currentTarget.value)}
      />
      <ChoiceSelect
        aria-label={t('community.region')}
        value={values.region}
        onChange={({ target }) => change({ region: target.value })}
      >
        <option value="">{t('community.region_any')}</option>
        {/* An address may name one that is not there. */}
        {values.region !== '' && !known && <option value={values.region}>{values.region}</option>}
        {regions.data?.map(({ code, name }) => (
          <option key={code} value={code}>
            {t('community.region_chosen', { name })}
          </option>
        ))}
      </ChoiceSelect>
      <ChoiceSelect
        aria-label={t('community.vram')}
        value={values.vram}
        onChange={({ target }) => change({ vram: VRAM_CHOICES.find(gb => gb === target.value) ?? '' })}
      >
        <option value="">{t('community.vram_any')}</option>
        {VRAM_CHOICES.map(gb => (
          <option key={gb} value={gb}>
            {t('community.vram_chosen', { gb })}
          </option>
        ))}
      </ChoiceSelect>
      <ChoiceSelect
        className={classes.sort}
        aria-label={t('community.sort')}
        value={values.sort}
        onChange={({ target }) =>
          change({ sort: IMAGE_SORTS.find(sort => sort === target.value) ?? 'deploys' })
        }
      >
        {IMAGE_SORTS.map(sort => (
          <option key={sort} value={sort}>
            {t(`community.sorts.${sort}`)}
          </option>
        ))}
      </ChoiceSelect>
    </div>
  )
}

interface TagsProps {
  tags: readonly TagCount[]
  /** How many there are whatever their tags. */
  total: number
  filters: Filters<CommunitySearch>
}

/** The tags that there are, each with how many it would leave. */
function Tags({ tags, total, filters }: TagsProps) {
  const { t } = useTranslation('images')
  const words = useImageWords()
  const chosen = filters.values.tag
  if (tags.length === 0) return null
  return (
    <fieldset className={classes.tags}>
      <legend className="said">{t('community.tags')}</legend>
      {[{ tag: '', count: total }, ...tags].map(({ tag, count }) => (
        <label key={tag} className={classes.tag} data-chosen={tag === chosen || undefined}>
          <input
            type="radio"
            name="tag"
            className={classes.input}
            checked={tag === chosen}
            onChange={() => filters.change({ tag })}
          />
          {tag === '' ? t('community.all') : words.tag(tag)} <span className={classes.tagCount}>{count}</span>
        </label>
      ))}
    </fieldset>
  )
}

function Cards({ images, sort }: { images: readonly Image[]; sort: CommunitySearch['sort'] }) {
  const { t } = useTranslation('images')
  // That a GPU is scarce helps; a page that cannot say it is none the worse.
  const specs = useQuery({ ...specsQuery, meta: { silent: true } })
  const [shown, setShown] = useState(CARDS_SHOWN)
  return (
    <>
      <ul className={classes.cards}>
        {images.slice(0, shown).map(image => (
          <ImageCard
            key={image.id}
            image={image}
            specs={specs.data}
            count={sort === 'stars' ? 'stars' : 'deploys'}
          />
        ))}
      </ul>
      {images.length > shown && (
        <div className={classes.more}>
          <Button variant="default" onClick={() => setShown(shown + CARDS_SHOWN)}>
            {t('community.more', { count: images.length - shown })}
          </Button>
        </div>
      )}
    </>
  )
}

/** Cards that are not there yet, at the height that they will have. */
function Waiting() {
  const { t } = useTranslation('common')
  return (
    <div role="status">
      <span className="said">{t('loading')}</span>
      <ul className={classes.cards} aria-hidden="true">
        {SKELETONS.map(index => (
          <li key={index} className={classes.waiting}>
            <Skeleton height={48} width={48} radius="md" />
            <Skeleton height={12} width="60%" radius="sm" />
            <Skeleton height={10} width="90%" radius="sm" />
            <Skeleton height={10} width="70%" radius="sm" />
          </li>
        ))}
      </ul>
    </div>
  )
}
