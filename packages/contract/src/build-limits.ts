/**
 * An image that is made of a Dockerfile: the file itself, the repository's address, what is taken of it, its folder, the files
 * in it, what may come of it, how long it may take, and what is kept of its log.
 */
export const DOCKERFILE_CHARS_MAX = 30_000
export const GIT_URL_CHARS_MAX = 500
export const GIT_REF_CHARS_MAX = 200
export const GIT_FOLDER_CHARS_MAX = 300
export const BUILD_CONTEXT_MB_MAX = 256
export const BUILD_GB_MAX = 20
export const BUILD_MINUTES_MAX = 60
export const BUILD_LOG_LINES_MAX = 5_000
export const BUILD_LOG_PAGE_LINES = 500
