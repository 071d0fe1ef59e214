/** Fetches one file of an image in a process of its own, for `fetchOutside`. */
import { serveFetch } from '../oci/serve-fetch.ts'
import { baseOrdersSchema, fetchBase } from './fetch-base.ts'

await serveFetch(baseOrdersSchema.parse, fetchBase)
